import { mkdir } from 'node:fs/promises'
import { resolve } from 'node:path'
import { openDatabase } from '@plumbline/db/database'
import { startEmbeddedPostgres } from '@plumbline/db/embedded'
import { migrate } from '@plumbline/db/migrate'
import { migrateQueue } from '@plumbline/queue/postgres-queues'
import { createLog, type Log } from '@plumbline/runtime/log'
import { processEnvironment, readSettings } from '@plumbline/runtime/settings'
import { runUntilStopped, tellReady } from '@plumbline/runtime/shutdown'
import { startOrExit } from '@plumbline/runtime/start'
import { PROGRAMS, supervise } from './children.ts'
import { createFirstAccount, type FirstAccount } from './first-account.ts'
import { ownDataDir } from './owner.ts'
import { writeServiceFile } from './service-file.ts'
import { localSettings, type LocalSettings } from './settings.ts'

// Everything on one machine: Postgres where none is given, the API, a worker for the checks and one
// for lists. Prints where it listens and, the first time, the keys of a first account.

/** What a program may take to stop beside its drain: its delay of readiness, and closing. */
const GRACE_BEYOND_DRAIN_MS = 10_000

const program = 'Plumbline'
const settings = await startOrExit(program, () => readSettings(localSettings))
const log = createLog({ name: 'local', level: settings.LOG_LEVEL, destination: 2 })
// The API and then the workers each have their drain and what goes beyond it.
const stopMs = 2 * (settings.DRAIN_SECONDS * 1000 + GRACE_BEYOND_DRAIN_MS) + 30_000
await runUntilStopped({ program, log, graceMs: stopMs }, () => startEverything(settings, log))

async function startEverything(
  { DATA_DIR, DATABASE_URL, REDIS_URL, KEY_PREFIX, HOST, DRAIN_SECONDS }: LocalSettings,
  out: Log,
): Promise<AsyncDisposable> {
  const dataDir = resolve(DATA_DIR)
  await mkdir(dataDir, { recursive: true })
  await using stack = new AsyncDisposableStack()
  // Before anything of the directory is touched.
  stack.use(await ownDataDir(dataDir))
  const databaseUrl = DATABASE_URL ?? (await startPostgres(dataDir, stack, out))
  const firstAccount = await prepareDatabase(databaseUrl, KEY_PREFIX)

  const env = { ...processEnvironment(), DATA_DIR: dataDir, DATABASE_URL: databaseUrl }
  const graceMs = DRAIN_SECONDS * 1000 + GRACE_BEYOND_DRAIN_MS
  const [api, ...workers] = PROGRAMS.map((program) =>
    supervise(program, { env, log: out, graceMs }),
  )
  // The API first: what it still answers needs the workers.
  stack.defer(async () => {
    await api?.[Symbol.asyncDispose]()
    await Promise.all(workers.map((worker) => worker[Symbol.asyncDispose]()))
  })
  const [facts] = await Promise.all([api?.ready, ...workers.map((worker) => worker.ready)])
  const url = `http://${HOST.includes(':') ? `[${HOST}]` : HOST}:${String(facts?.['port'])}`
  const adminUrl = `http://127.0.0.1:${String(facts?.['adminPort'])}`
  stack.use(
    await writeServiceFile(dataDir, {
      pid: process.pid,
      url,
      adminUrl,
      databaseUrl,
      redisUrl: REDIS_URL ?? null,
      keyPrefix: KEY_PREFIX,
    }),
  )
  greet(url, firstAccount)
  tellReady({ url })
  const owned = stack.move()
  return { [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

async function startPostgres(
  dataDir: string,
  stack: AsyncDisposableStack,
  out: Log,
): Promise<string> {
  const postgres = await startEmbeddedPostgres({
    dataDir,
    warn: (message) => out.warn({}, message),
  })
  stack.defer(() => postgres.stop())
  return postgres.url
}

async function prepareDatabase(
  databaseUrl: string,
  service: string,
): Promise<FirstAccount | undefined> {
  await using db = openDatabase({ url: databaseUrl, poolSize: 2, applicationName: 'local' })
  await migrate(db)
  await migrateQueue(databaseUrl)
  return await createFirstAccount(db, service)
}

function greet(url: string, account: FirstAccount | undefined): void {
  const lines = [`Plumbline listens on ${url}  (reference: ${url}/docs)`]
  if (account !== undefined) {
    lines.push(
      '',
      `A first account was made: ${account.accountId} (plan pro)`,
      `  live key: ${account.liveKey}`,
      `  test key: ${account.testKey}`,
      `They are not shown again; "npm run -s cli -- key create ${account.accountId} --mode live" makes a new one.`,
    )
  }
  process.stdout.write(`${lines.join('\n')}\n`)
}
