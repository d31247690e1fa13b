import {
  appendFile,
  chmod,
  mkdtemp,
  readFile,
  rm,
  stat,
  truncate,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDatabase } from '@plumbline/db/database'
import { expect, test } from 'vitest'
import type { Log } from '@plumbline/ports/log'
import { keepPostgres } from './keep-postgres.ts'

const RESTART_MS = { first: 10, last: 40 }
const PATIENT = { timeout: 60_000 }

test('a Postgres that ends is started again with its data, as soon as it can start', async () => {
  await using stack = new AsyncDisposableStack()
  const dataDir = await mkdtemp(join(tmpdir(), 'plumbline-kept-'))
  stack.defer(() => rm(dataDir, { recursive: true, force: true }))
  const logged: string[] = []
  const log = logTo(logged)
  const postgres = stack.use(await keepPostgres({ dataDir }, log, RESTART_MS))
  await ask(postgres.url, 'create table kept as select 42 as answer')
  const data = await dataIn(dataDir)

  await kill(data)
  await expect.poll(() => answer(postgres.url), PATIENT).toBe(42)
  expect(logged[0]).toBe('Postgres ended; starting it again')

  // Settings that it cannot read stand for a full disk.
  const settings = join(data, 'postgresql.conf')
  const { size } = await stat(settings)
  await appendFile(settings, 'nonsense\n')
  logged.length = 0
  await kill(data)
  const failures = (): number => logged.filter((line) => line.includes('cannot be started')).length
  await expect.poll(failures, PATIENT).toBeGreaterThan(1)
  await truncate(settings, size)
  await expect.poll(() => answer(postgres.url), PATIENT).toBe(42)

  await postgres[Symbol.asyncDispose]()
  await expect(ask(postgres.url, 'select')).rejects.toThrow(/ECONNREFUSED/)
}, 180_000)

test('a stop does not wait until a Postgres that is started again has replayed its log', async () => {
  await using stack = new AsyncDisposableStack()
  const dataDir = await mkdtemp(join(tmpdir(), 'plumbline-kept-'))
  stack.defer(() => rm(dataDir, { recursive: true, force: true }))
  const logged: string[] = []
  const postgres = stack.use(await keepPostgres({ dataDir }, logTo(logged), RESTART_MS))
  const data = await dataIn(dataDir)

  // An archive that never replies stands for a long log.
  const asked = join(data, 'asked')
  await writeFile(join(data, 'recovery.signal'), '')
  await chmod(join(data, 'recovery.signal'), 0o666)
  await appendFile(
    join(data, 'postgresql.conf'),
    "restore_command = 'touch asked; exec sleep 60'\n",
  )
  await kill(data)
  const isAsked = (): Promise<boolean> =>
    stat(asked).then(
      () => true,
      () => false,
    )
  await expect.poll(isAsked, PATIENT).toBe(true)
  await postgres[Symbol.asyncDispose]()
  expect(logged).toEqual(['Postgres ended; starting it again'])
}, 50_000)

function logTo(logged: string[]): Log {
  return {
    debug: () => undefined,
    info: () => undefined,
    warn: () => undefined,
    error: (_, message) => void logged.push(message),
  }
}

/** Null while the server is away. */
async function answer(url: string): Promise<unknown> {
  const rows = await ask(url, 'select answer from kept').catch(() => [{ answer: null }])
  return rows[0]?.['answer']
}

async function ask(url: string, statement: string): Promise<readonly Record<string, unknown>[]> {
  await using db = openDatabase({ url, poolSize: 1, applicationName: 'test' })
  return (await db.pool.query<Record<string, unknown>>(statement)).rows
}

/** The server's data; beside the programs where these have an own place. */
async function dataIn(dataDir: string): Promise<string> {
  const [server, plain] = ['postgres/server/data', 'postgres/data'].map((at) => join(dataDir, at))
  return await stat(server ?? '').then(
    () => server ?? '',
    () => plain ?? '',
  )
}

async function kill(data: string): Promise<void> {
  const text = await readFile(join(data, 'postmaster.pid'), 'utf8')
  process.kill(Number(text.split('\n')[0]), 'SIGKILL')
}
