import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { openDatabase, type Db } from '@plumbline/db/database'
import { startEmbeddedPostgres, type EmbeddedPostgres } from '@plumbline/db/embedded'
import { processEnvironment } from '@plumbline/runtime/settings'
import { formOf, readLines, submitBatch, untilBatch, viewBatch } from '@plumbline/testkit/batches'
import { canRunPostgres15, startPostgres15 } from '@plumbline/testkit/debian-postgres'
import { expectLedgerIntact } from '@plumbline/testkit/invariants'
import { servingUrlOf } from '@plumbline/testkit/postgres'
import { startService, type Account, type TestService } from '@plumbline/testkit/service'
import { expect, test } from 'vitest'
import { lockDataDir } from './data-dir-lock.ts'

const MOVE = fileURLToPath(new URL('move.ts', import.meta.url))
const MAIN = fileURLToPath(new URL('main.ts', import.meta.url))

const ROWS = 1_500
const LIST = Array.from({ length: ROWS }, (_, no) => `person.${no}@b.example,192.0.2.${no % 250}\n`)
const CSV = `email,ip\n${LIST.join('')}`

/** Whole processes on a busy machine. */
const PATIENT_MS = 400_000

// The other server is Debian's: CI installs it, and fails if it is missing.
test.skipIf(!canRunPostgres15())(
  'waiting and running batches of the packaged Postgres continue on the new server, each credit and row once',
  async () => {
    await using stack = new AsyncDisposableStack()
    const dataDir = await mkdtemp(join(tmpdir(), 'plumbline-move-'))
    stack.defer(() => rm(dataDir, { recursive: true, force: true }))
    const server = stack.use(await startPostgres15())
    const files = pathToFileURL(join(dataDir, 'files')).href

    const { account, waiting, running } = await leaveWork(dataDir, files)

    const urls = { DATABASE_URL: servingUrlOf(server.url), MIGRATE_DATABASE_URL: server.url }
    const lock = await lockDataDir(dataDir)
    expect(await run(MOVE, { DATA_DIR: dataDir, ...urls })).toEqual({
      code: 1,
      out: '',
      said: expect.stringContaining('The database was not moved: stop the service first'),
    })
    await lock[Symbol.asyncDispose]()
    expect(await run(MOVE, { DATA_DIR: dataDir, ...urls })).toEqual({
      code: 0,
      out: expect.stringMatching(/^\d+ tables with \d+ rows are in 127\.0\.0\.1:\d+\/postgres,/),
      said: '',
    })
    for (const program of [MOVE, MAIN]) {
      const settings = program === MOVE ? urls : {}
      expect(await run(program, { DATA_DIR: dataDir, ...settings })).toEqual({
        code: 1,
        out: '',
        said: expect.stringMatching(/was moved to 127\.0\.0\.1:\d+\/postgres; set DATABASE_URL/),
      })
    }

    await using service = await startService({
      databaseUrl: server.url,
      workers: [['email', 'ip', 'batch']],
      env: { FILES_URL: files, ...QUICK },
    })
    const caller = { service, account, key: account.liveKey }
    expect(await viewBatch(caller, waiting)).toMatchObject({ status: 'ready' })
    const started = await service.call(caller.key, 'POST', `/v1/batches/${waiting}/start`)
    expect(started.status).toBe(200)
    for (const id of [waiting, running]) {
      const ended = await untilBatch(caller, id, ['completed', 'failed', 'canceled'])
      expect(ended).toMatchObject({
        status: 'completed',
        rows: { total: ROWS, done: ROWS },
        credits: { used: ROWS * 2, held: 0 },
      })
      const lines = await readLines(caller, id)
      expect(lines.map(({ row }) => row)).toEqual(LIST.map((_, at) => at + 1))
      expect(lines.every(({ credits_charged: charged }) => charged === 2)).toBe(true)
    }
    await expectLedgerIntact(service)
  },
  PATIENT_MS,
)

// The other server is Debian's: CI installs it, and fails if it is missing.
test.skipIf(!canRunPostgres15())(
  'a target with other tables is refused, and so is a folder without a packaged Postgres',
  async () => {
    await using stack = new AsyncDisposableStack()
    const dataDir = await mkdtemp(join(tmpdir(), 'plumbline-move-'))
    stack.defer(() => rm(dataDir, { recursive: true, force: true }))
    const server = stack.use(await startPostgres15())
    expect(await run(MOVE, { DATA_DIR: dataDir, DATABASE_URL: server.url })).toMatchObject({
      code: 1,
      said: `The database was not moved: ${dataDir} has no packaged Postgres; set DATA_DIR to the one of "npm start"\n`,
    })
    const postgres = await startEmbeddedPostgres({ dataDir })
    await postgres.stop()
    expect(await run(MOVE, { DATA_DIR: dataDir })).toMatchObject({
      code: 1,
      said: expect.stringContaining('expected DATABASE_URL'),
    })
    await using db = openDatabase({ url: server.url, poolSize: 1, applicationName: 'test' })
    await db.pool.query('create table orders (id int)')
    expect(await run(MOVE, { DATA_DIR: dataDir, DATABASE_URL: server.url })).toMatchObject({
      code: 1,
      said: 'The database was not moved: the database of DATABASE_URL holds tables of something else; give an empty one\n',
    })
  },
  PATIENT_MS,
)

/** Times of leases and sweeps, as short as a test can wait for. */
const QUICK = { CHUNK_RECORDS: '500', LEASE_SECONDS: '3', SAVE_SECONDS: '1', SWEEP_SECONDS: '1' }

interface Left {
  readonly account: Account
  readonly waiting: string
  readonly running: string
}

/**
 * Creates in the packaged Postgres a batch that waits for its start, and a running one of which
 * half of the tasks are answered, as no worker takes the others; then stops the server.
 */
async function leaveWork(dataDir: string, files: string): Promise<Left> {
  await using stack = new AsyncDisposableStack()
  const postgres: EmbeddedPostgres = await startEmbeddedPostgres({
    dataDir,
    settings: { fsync: 'off' },
  })
  stack.defer(() => postgres.stop())
  const service: TestService = stack.use(
    await startService({
      databaseUrl: postgres.url,
      workers: [['ip', 'batch']],
      env: { FILES_URL: files, ...QUICK },
    }),
  )
  const account = await service.account({ credits: 10 * ROWS })
  const caller = { service, account, key: account.liveKey }
  const fields = { product: 'contact-intel' }
  const { id: waiting } = await submitBatch(caller, formOf({ ...fields, start: 'false' }, CSV))
  expect(await untilBatch(caller, waiting)).toMatchObject({ status: 'ready' })
  const { id: running } = await submitBatch(caller, formOf(fields, CSV))
  await expect.poll(() => tasksOf(service.db, running)).toEqual([{ check: 'email', chunks: 3 }])
  expect(await viewBatch(caller, running)).toMatchObject({ status: 'running', rows: { done: 0 } })
  return { account, waiting, running }
}

async function tasksOf(db: Db, batchId: string): Promise<readonly unknown[]> {
  const { rows } = await db.pool.query<Record<string, unknown>>(
    `select check_kind as check, count(distinct chunk_no)::int as chunks from tasks
     where batch_id = $1 group by check_kind`,
    [batchId],
  )
  return rows
}

async function run(
  program: string,
  settings: Readonly<Record<string, string>>,
): Promise<{ code: number; out: string; said: string }> {
  return await new Promise((resolve) => {
    execFile(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', program],
      { env: { PATH: processEnvironment()['PATH'], PORT: '0', ADMIN_PORT: '0', ...settings } },
      (error, out, said) => resolve({ code: error === null ? 0 : Number(error.code), out, said }),
    )
  })
}
