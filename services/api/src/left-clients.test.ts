import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { createServer, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { finished } from 'node:stream/promises'
import { setImmediate } from 'node:timers/promises'
import { CALL_LIMITS } from '@plumbline/contract/limits'
import type { Request, Response } from 'express'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openBodyStream } from './body-stream.ts'
import { readJson, tooLarge } from './body.ts'
import { readRecords, type BodyIntake } from './records.ts'
import { apiSettings } from './settings.ts'
import { readUpload } from './upload.ts'

/** A request that was received whole, or in part, and whose client has left since. */
async function leftRequest(
  isWhole: boolean,
  type = 'application/json',
): Promise<readonly [Request, Response]> {
  const server = createServer().listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the server has no port')
  const text = JSON.stringify({ email: 'ada@example.com' })
  const sent = request({
    port: address.port,
    method: 'POST',
    headers: { 'content-type': type, 'content-length': text.length },
  })
  sent.on('error', () => undefined)
  if (isWhole) sent.end(text)
  else sent.write(text.slice(0, 5))
  // Safe because the body needs no more of them than Node's have.
  const [req, res] = (await once(server, 'request')) as unknown as [Request, Response]
  await expect.poll(() => req.complete || req.readableLength > 0).toBe(true)
  sent.destroy()
  await once(res, 'close')
  return [req, res]
}

describe.each([true, false])('the body of a client that left, received whole: %s', (isWhole) => {
  test('is refused at once as JSON', { timeout: 5_000 }, async () => {
    const [req, res] = await leftRequest(isWhole)
    await expect(readJson(req, res, CALL_LIMITS)).rejects.toThrow('The body was cut off')
  })

  test('ends at once as a stream', { timeout: 4_000 }, async () => {
    const [req] = await leftRequest(isWhole)
    const body = openBodyStream(
      req,
      () => 1_000,
      () => tooLarge(1_000),
    )
    // Its reader may open a file first.
    await setImmediate()
    await expect(finished(body.resume())).rejects.toThrow('The body was cut off')
  })

  test.each([
    ['file', 'multipart/form-data; boundary=b', readUpload],
    ['list of records', 'application/json', readRecords],
  ])('leaves nothing of a %s', { timeout: 4_000 }, async (_what, type, read) => {
    const scratchDir = await mkdtemp(join(tmpdir(), 'plumbline-left-'))
    onTestFinished(() => rm(scratchDir, { recursive: true }))
    const [req, res] = await leftRequest(isWhole, type)
    const intake: BodyIntake = {
      scratchDir,
      settings: apiSettings.parse({ DATABASE_URL: 'postgres://127.0.0.1/none', DATA_DIR: '/' }),
      file: { take: async () => {}, stored: () => {}, [Symbol.dispose]: () => {} },
      guard: { begin: () => {}, within: (bytes) => bytes, refusalOf: (error) => error },
    }
    await expect(read(req, res, intake)).rejects.toThrow('cut off')
    expect(await readdir(scratchDir)).toEqual([])
  })
})
