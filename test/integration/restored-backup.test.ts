import { randomBytes } from 'node:crypto'
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { backends, type Backend } from '@plumbline/testkit/backends'
import {
  call,
  creditsOf,
  formOf,
  readCells,
  readLines,
  runBatch,
  submitBatch,
  untilBatch,
  viewBatch,
  type Caller,
} from '@plumbline/testkit/batches'
import { memberAt, QUICK } from '@plumbline/testkit/crash-harness'
import { expectLedgerIntact } from '@plumbline/testkit/invariants'
import { createTestDatabase, databaseUrl, onServer } from '@plumbline/testkit/postgres'
import { startService, type TestService } from '@plumbline/testkit/service'
import { describe, expect, test } from 'vitest'

const ROWS = 1_200
const LIST = Array.from(
  { length: ROWS },
  (_, no) => `person.${no}@b.example,10.${no >> 8}.${no % 256}.1`,
)
const CSV = `email,ip\n${LIST.join('\n')}\n`
const IP_CSV = CSV.replace('email', 'name')
const BOTH = { product: 'contact-intel' }

describe.each(backends())(
  'a database of an hour ago beside newer files, queue on $name',
  (backend) => {
    test('continues from its state, with every row, credit and file that it knows and no later ones', async () => {
      await using setup = await openBackupSetup(backend)
      const service = await setup.start()
      const account = await service.account({ credits: 20 * ROWS })
      const before: Caller = { service, account, key: account.liveKey }
      const { running, waiting, deleted } = await leaveWork(before)
      const credits = await allCredits(before)
      await setup.backUp(service)

      // Changes after the backup.
      await finishWork(before, { running, waiting })
      const later = await runBatch(before, formOf({ product: 'ip' }, IP_CSV))
      expect((await call(before, 'DELETE', `/v1/batches/${deleted}`)).status).toBe(204)
      const single = await askOnce(before)
      expect(await allCredits(before)).toBeLessThan(credits)
      await service[Symbol.asyncDispose]()

      await using restored = await setup.restore()
      const after: Caller = { ...before, service: restored }
      expect(await allCredits(after)).toBe(credits)
      expect((await call(after, 'GET', `/v1/batches/${later.id}`)).status).toBe(404)
      expect(await viewBatch(after, waiting)).toMatchObject({ status: 'ready' })
      await finishWork(after, { running, waiting })
      // Its file was removed with it; its rows are in the restored database.
      expect(await viewBatch(after, deleted)).toMatchObject({ status: 'completed' })
      expect(await readCells(after, deleted)).toHaveLength(ROWS + 1)
      expect(await readLines(after, deleted)).toHaveLength(ROWS)
      const part = await fetch(new URL(`/v1/batches/${deleted}/results`, restored.url), {
        headers: { authorization: `Bearer ${after.key}`, range: 'bytes=0-9' },
      })
      expect([part.status, (await part.text()).split('\n').length]).toEqual([200, ROWS + 2])
      expect(await askOnce(after)).toEqual(single)
      expect((await runBatch(after, formOf({ product: 'ip' }, IP_CSV))).status).toBe('completed')
      // The two that continued, the one after them and the single call.
      expect(await allCredits(after)).toBe(credits - 2 * (2 * ROWS) - ROWS - 1)
      await expectLedgerIntact(restored)
      const archive = await call(after, 'GET', '/v1/export')
      expect([archive.status, (await archive.arrayBuffer()).byteLength > 0]).toEqual([200, true])
    })
  },
)

interface BackupSetup extends AsyncDisposable {
  start(): Promise<TestService>
  /**
   * Copies the database while every process is killed; then they are started again.
   */
  backUp(service: TestService): Promise<void>
  /** Starts the service on the copy, with the present files and Redis. */
  restore(): Promise<TestService>
}

async function openBackupSetup({ redisUrl }: Backend): Promise<BackupSetup> {
  await using stack = new AsyncDisposableStack()
  const dir = stack.use(await mkdtempDisposable(join(tmpdir(), 'plumbline-restored-'))).path
  const { url } = stack.use(await createTestDatabase())
  const server = databaseUrl(url, 'postgres')
  const copy = `test_${randomBytes(8).toString('hex')}`
  stack.defer(() => onServer(server, `drop database if exists ${copy} with (force)`))
  const env = {
    ...QUICK,
    FILES_URL: pathToFileURL(join(dir, 'files')).href,
    // What is in Redis is of this test alone, before and after.
    REDIS_PREFIX: copy,
  }
  const owned = stack.move()
  return {
    start: () =>
      startService({ databaseUrl: url, redisUrl, env, workers: [['ip', 'batch'], ['email']] }),
    backUp: async ({ api, workers }) => {
      const members = [api, ...workers]
      await Promise.all(members.map((member) => member.kill()))
      const name = new URL(url).pathname.slice(1)
      await onServer(server, sessionsEnd(name))
      await onServer(server, `create database ${copy} template ${name}`)
      await Promise.all(members.map((member) => member.restart()))
    },
    restore: () =>
      startService({
        databaseUrl: databaseUrl(url, copy),
        redisUrl,
        env,
        workers: [['ip', 'email', 'batch']],
      }),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

function sessionsEnd(database: string): string {
  return `select pg_terminate_backend(pid, 10000) from pg_stat_activity where datname = '${database}'`
}

/** A batch with half of its checks answered (no worker runs the others), a waiting and an ended one. */
async function leaveWork(
  caller: Caller,
): Promise<{ running: string; waiting: string; deleted: string }> {
  const { service } = caller
  const { id: deleted, status } = await runBatch(caller, formOf({ product: 'ip' }, IP_CSV))
  expect(status).toBe('completed')
  const { id: waiting } = await submitBatch(caller, formOf({ ...BOTH, start: 'false' }, CSV))
  expect(await untilBatch(caller, waiting)).toMatchObject({ status: 'ready' })
  await memberAt(service, 1).kill()
  const { id: running } = await submitBatch(caller, formOf(BOTH, CSV))
  await expect.poll(() => checksLeft(service, running)).toEqual(['email'])
  return { running, waiting, deleted }
}

async function checksLeft({ db }: TestService, batchId: string): Promise<readonly string[]> {
  const { rows } = await db.pool.query<{ check: string }>(
    'select distinct check_kind as check from tasks where batch_id = $1',
    [batchId],
  )
  return rows.map(({ check }) => check)
}

/** Starts the waiting batch, and checks each row and credit of both when they have ended. */
async function finishWork(
  caller: Caller,
  { running, waiting }: { running: string; waiting: string },
): Promise<void> {
  expect((await call(caller, 'POST', `/v1/batches/${waiting}/start`)).status).toBe(200)
  for (const id of [running, waiting]) {
    expect(await untilBatch(caller, id, ['completed', 'failed', 'canceled'])).toMatchObject({
      status: 'completed',
      rows: { total: ROWS, done: ROWS },
      credits: { used: 2 * ROWS, held: 0 },
    })
    const [, ...cells] = await readCells(caller, id)
    expect(cells.map(([email, ip]) => `${email},${ip}`)).toEqual(LIST)
    const lines = await readLines(caller, id)
    expect(lines.every(({ credits_charged: charged }) => charged === 2)).toBe(true)
  }
}

/** Credits of the account, held or not. */
async function allCredits(caller: Caller): Promise<number> {
  const { left, held } = await creditsOf(caller)
  return left + held
}

async function askOnce({ service, key }: Caller): Promise<unknown> {
  const response = await fetch(new URL('/v1/ip', service.url), {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'idempotency-key': 'once',
    },
    body: JSON.stringify({ ip: '192.0.2.7' }),
  })
  return [response.status, await response.json()]
}
