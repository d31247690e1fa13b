import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempDisposable, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { openDatabase, type Db } from '@plumbline/db/database'
import { bounded, type Figure } from './figure.ts'

const MAIN = fileURLToPath(new URL('../../services/local/src/main.ts', import.meta.url))

/** Transactions a second that an idle service may run. */
const TRANSACTIONS_A_SECOND = 10
const CONNECTIONS = 20

/** After this time, one-time work of the start is over, and the dispatcher polls slowly. */
const SETTLE_MS = 75_000
const MEASURED_MS = 60_000

/** Transactions a second and connections of an idle `npm start` with its own Postgres. */
export async function run(): Promise<readonly Figure[]> {
  await using stack = new AsyncDisposableStack()
  const dataDir = stack.use(await mkdtempDisposable(join(tmpdir(), 'plumbline-idle-'))).path
  const service = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', MAIN], {
    env: { ...process.env, DATA_DIR: dataDir, PORT: '0', ADMIN_PORT: '0', DRAIN_SECONDS: '1' },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  stack.defer(async () => {
    if (service.exitCode !== null || service.signalCode !== null) return
    service.kill('SIGTERM')
    await once(service, 'exit')
  })
  await once(service, 'message')
  const url = await databaseUrlIn(dataDir)
  await using db = openDatabase({ url, poolSize: 1, applicationName: 'bench' })
  await wait(SETTLE_MS)
  const before = await lookAt(db)
  await wait(MEASURED_MS)
  const after = await lookAt(db)
  const perSecond =
    (after.transactions - before.transactions) / ((after.atMs - before.atMs) / 1_000)
  const head = { backend: 'embedded' }
  return [
    bounded(
      { ...head, name: 'idle: transactions', unit: 'tx/s' },
      perSecond,
      TRANSACTIONS_A_SECOND,
    ),
    bounded(
      { ...head, name: 'idle: database connections', unit: 'connections' },
      after.connections,
      CONNECTIONS,
    ),
  ]
}

/** The database's counters, without this program's own connection. */
async function lookAt(db: Db): Promise<{
  readonly transactions: number
  readonly connections: number
  readonly atMs: number
}> {
  const { rows } = await db.pool.query<{ transactions: number; connections: number }>(`
    select (select (xact_commit + xact_rollback)::int from pg_stat_database
        where datname = current_database()) as transactions,
      (select count(*)::int from pg_stat_activity
        where backend_type = 'client backend' and pid <> pg_backend_pid()) as connections`)
  const [{ transactions, connections } = { transactions: 0, connections: 0 }] = rows
  return { transactions, connections, atMs: performance.now() }
}

async function databaseUrlIn(dataDir: string): Promise<string> {
  const text = await readFile(join(dataDir, 'service.json'), 'utf8')
  const facts: unknown = JSON.parse(text)
  if (typeof facts === 'object' && facts !== null && 'databaseUrl' in facts) {
    return String(facts.databaseUrl)
  }
  throw new Error(`expected "databaseUrl" in service.json, got ${text}`)
}
