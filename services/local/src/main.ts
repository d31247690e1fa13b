import { mkdir } from 'node:fs/promises'
import { resolve } from 'node:path'
import { openDatabase } from '@plumbline/db/database'
import { startEmbeddedPostgres } from '@plumbline/db/embedded'
import { migrate } from '@plumbline/db/migrate'
import { migrateQueue } from '@plumbline/queue/postgres-queues'
import { createLog, type Log } from '@plumbline/runtime/log'
import { processEnvironment, readSettings } from '@plumbline/runtime/settings'
import { runUntilStopped, tellReady } from '@plumbline/runtime/shutdown'
import { PROGRAMS, supervise } from './children.ts'
import { createFirstAccount, type FirstAccount } from './first-account.ts'
import { writeServiceFile } from './service-file.ts'
import { localSettings, type LocalSettings } from './settings.ts'

// Everything on one machine: Postgres where none is given, the API, a worker for the checks and one
// for lists. Prints where it listens and, the first time, the keys of a first account.

const settings = readSettings(localSettings)
const log = createLog({ name: 'local', level: settings.LOG_LEVEL, destination: 2 })
await runUntilStopped({ log, graceMs: (settings.DRAIN_SECONDS + 15) * 1000 }, () =>
  startEverything(settings, log),
)

async function startEverything(
  { DATA_DIR, DATABASE_URL, REDIS_URL, KEY_PREFIX, HOST, DRAIN_SECONDS }: LocalSettings,
  out: Log,
): Promise<AsyncDisposable> {
  const dataDir = resolve(DATA_DIR)
  await mkdir(dataDir, { recursive: true })
  await using stack = new AsyncDisposableStack()
  const databaseUrl = DATABASE_URL ?? (await startPostgres(dataDir, stack, out))
  const firstAccount = await prepareDatabase(databaseUrl, KEY_PREFIX)

  const env = { ...processEnvironment(), DATA_DIR: dataDir, DATABASE_URL: databaseUrl }
  const children = PROGRAMS.map((program) =>
    stack.use(supervise(program, { env, log: out, graceMs: DRAIN_SECONDS * 1000 })),
  )
  const [api] = await Promise.all(children.map((child) => child.ready))
  const url = `http://${HOST.includes(':') ? `[${HOST}]` : HOST}:${String(api?.['port'])}`
  const adminUrl = `http://127.0.0.1:${String(api?.['adminPort'])}`
  stack.use(
    await writeServiceFile(dataDir, {
      pid: process.pid,
      url,
      adminUrl,
      databaseUrl,
      redisUrl: REDIS_URL ?? null,
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
      'They are not shown again; `npm run cli -- key create ID --mode live` makes new ones.',
    )
  }
  process.stdout.write(`${lines.join('\n')}\n`)
}
