import { CHECKS } from '@plumbline/contract/products'
import { openDatabase } from '@plumbline/db/database'
import { migrate } from '@plumbline/db/migrate'
import { grantServing } from '@plumbline/db/serving-role'
import { limitSessions } from '@plumbline/db/session-limits'
import { WORKER_KINDS } from '@plumbline/db/workers'
import { migrateQueue } from '@plumbline/queue/postgres-queues'
import { listenForAdmin } from '@plumbline/runtime/admin-server'
import { readAwsSecrets } from '@plumbline/runtime/aws-secrets'
import { leaveRoot } from '@plumbline/runtime/leave-root'
import { createLog } from '@plumbline/runtime/log'
import type { Listening } from '@plumbline/runtime/listen'
import { keepFilesPrivate } from '@plumbline/runtime/private-files'
import { readSettings } from '@plumbline/runtime/settings'
import { runUntilStopped, reportReady } from '@plumbline/runtime/shutdown'
import { startOrExit } from '@plumbline/runtime/start'
import { adminProgram } from './admin-program.ts'
import { openContext, type WorkerContext } from './context.ts'
import { openEngines } from './engines.ts'
import { serve } from './serve.ts'
import { workerSettings, type WorkerSettings } from './settings.ts'

// worker KIND...  where KIND is email, phone, ip, domain or batch; or `worker migrate`.

const KINDS = [...WORKER_KINDS, 'migrate'] as const
type Kind = (typeof KINDS)[number]

const kinds = readKinds(process.argv.slice(2))
const program = `worker ${kinds.join(' ')}`
keepFilesPrivate()
const settings = await startOrExit(program, () => {
  readAwsSecrets()
  return readSettings(workerSettings)
})
const log = createLog({ name: program, level: settings.LOG_LEVEL })
const { SCORE_WEIGHTS_FILE, LISTS_DIR, IP_CITY_DB, IP_ASN_DB } = settings
const needs = { ...settings, reads: [SCORE_WEIGHTS_FILE, LISTS_DIR, IP_CITY_DB, IP_ASN_DB] }
await startOrExit(program, () => leaveRoot(needs, (message) => log.warn({}, message)))

if (kinds.includes('migrate')) {
  await startOrExit(program, () => runMigrations(settings))
  log.info({}, 'migrated')
} else {
  await runUntilStopped({ program, log, graceMs: settings.DRAIN_SECONDS * 1000 }, startWorker)
}

async function startWorker(): Promise<AsyncDisposable> {
  await using stack = new AsyncDisposableStack()
  const context = stack.use(await openContext(settings, log, `worker-${kinds.join('-')}`))
  const checks = CHECKS.filter((check) => kinds.includes(check))
  const engines = stack.use(await openEngines(context, checks))
  stack.use(await serve(context, engines.all, { batches: kinds.includes('batch') }))
  const admin = await listenForOperator(context)
  if (admin !== undefined) stack.use(admin)
  const facts = admin === undefined ? {} : { adminPort: admin.port }
  log.info({ kinds, ...facts }, 'worker ready')
  reportReady(facts)
  return stack.move()
}

async function listenForOperator(context: WorkerContext): Promise<Listening | undefined> {
  const { WORKER_ADMIN_PORT: port, ADMIN_HOST: host, ADMIN_TOKEN: token } = settings
  if (port === undefined) return undefined
  return await listenForAdmin(adminProgram(context, kinds), { host, port, token })
}

async function runMigrations({
  DATABASE_URL,
  DATABASE_DIRECT_URL: direct,
  MIGRATE_DATABASE_URL: owner,
}: WorkerSettings): Promise<void> {
  const url = owner ?? direct ?? DATABASE_URL
  await using db = openDatabase({ url, poolSize: 1, applicationName: 'migrate' })
  await migrate(db)
  await migrateQueue(url)
  if (owner !== undefined) await grantServing(db, DATABASE_URL)
  if (direct !== undefined) await limitSessions(db, DATABASE_URL)
}

function readKinds(words: readonly string[]): readonly Kind[] {
  const unknown = words.find((word) => !KINDS.some((kind) => kind === word))
  if (words.length === 0 || unknown !== undefined) {
    process.stderr.write(`worker: expected one or more of ${KINDS.join(', ')}\n`)
    process.exit(2)
  }
  return KINDS.filter((kind) => words.includes(kind))
}
