import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import {
  openApiHarness,
  type ApiHarness,
  type HarnessAccount,
} from '@plumbline/testkit/api/harness'
import { sweepUnanswered } from '@plumbline/metering/sweep'
import { PATIENT } from '@plumbline/testkit/patience'
import { PIPELINED_MAX } from '../unsent-responses.ts'

let stage: ApiHarness
beforeAll(async () => {
  stage = await openApiHarness({
    RATE_LIMIT_PER_SECOND: '1000',
    RATE_LIMIT_BURST: '1000',
    SEND_TIMEOUT_SECONDS: '600',
  })
})
afterAll(() => stage[Symbol.asyncDispose]())

/** Free responses that fill the buffers of a connection, and paid ones behind them. */
const FREE_COUNT = 12
const PAID_COUNT = PIPELINED_MAX - FREE_COUNT

/** A client that makes many free calls and then paid ones, and reads no response. */
function askWithoutReading(key: string): Socket {
  const { port } = new URL(stage.url)
  const socket = connect({ port: Number(port), host: '127.0.0.1' })
  socket.on('error', () => undefined).pause()
  const body = JSON.stringify({ ip: '8.8.8.8' })
  const free = 'GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n'
  const paid =
    `POST /v1/ip HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  socket.write(free.repeat(FREE_COUNT) + paid.repeat(PAID_COUNT))
  return socket
}

async function unansweredOf(account: HarnessAccount): Promise<number> {
  const { rows } = await stage.db.pool.query<{ count: number }>(
    'select count(*)::int from credit_unanswered where account_id = $1',
    [account.id],
  )
  return rows[0]?.count ?? -1
}

async function callsTakenFrom(account: HarnessAccount): Promise<number> {
  const { rows } = await stage.db.pool.query<{ count: number }>(
    `select count(*)::int from credit_entries where account_id = $1 and kind = 'debit'`,
    [account.id],
  )
  return rows[0]?.count ?? -1
}

test('responses that wait for a client that does not read are charged, whatever it reads later', async () => {
  const account = await stage.account({ credits: 1_000 })
  const before = await callsTakenFrom(account)
  const socket = askWithoutReading(account.live)
  await vi.waitFor(
    async () => expect((await callsTakenFrom(account)) - before).toBe(PAID_COUNT),
    PATIENT,
  )
  // No byte has been read, but the sweep has nothing to refund.
  await expect.poll(() => unansweredOf(account)).toBe(0)
  expect(await sweepUnanswered(stage.db, 0)).toEqual([])
  let read = ''
  socket.on('data', (chunk: Buffer) => (read += chunk.toString('latin1'))).resume()
  await expect.poll(() => read.match(/x-credits-charged: 1\r/gi)?.length ?? 0).toBe(PAID_COUNT)
  socket.destroy()
  expect(await stage.metering.remaining(account.id)).toBe(1_000 - PAID_COUNT)
})
