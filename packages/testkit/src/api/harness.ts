import type { Plan } from '@plumbline/contract/plans'
import type { Outcome } from '@plumbline/contract/outcome'
import { CHECKS, type Check } from '@plumbline/contract/products'
import { createAccount } from '@plumbline/db/accounts'
import { openDatabase, type Db } from '@plumbline/db/database'
import { createKey } from '@plumbline/db/keys'
import { grantServing } from '@plumbline/db/serving-role'
import { createMetering, type Metering } from '@plumbline/metering/metering'
import { serveLive } from '@plumbline/queue/live-server'
import { createLog } from '@plumbline/runtime/log'
import { readSettings } from '@plumbline/runtime/settings'
import { openSync, type Dirent } from 'node:fs'
import { mkdtempDisposable, readdir, readFile, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { outcomeFor } from '../instant-engines.ts'
import { createTestDatabase, servingUrlOf } from '../postgres.ts'
import { openPostgresTestQueue, openRedisTestQueue, type TestQueue } from '../queue.ts'
import { serve, type Api } from '@plumbline/api/serve'
import { apiSettings } from '@plumbline/api/settings'

/** How the workers of a harness answer a question; undefined if they do not reply. */
export type AnswerQuestion = (check: Check, subject: string) => Promise<Outcome | undefined>

/** The API in this process, with its own database and queue, and workers whose answers a test may set. */
export interface ApiHarness extends AsyncDisposable {
  readonly url: string
  readonly adminUrl: string
  readonly db: Db
  readonly metering: Metering
  /** Subjects that workers were asked about, in order. */
  readonly asked: string[]
  /** Replaces the workers' answers; undefined: they answer from the subject alone. */
  answer: AnswerQuestion | undefined
  account(options?: { plan?: Plan; credits?: number }): Promise<HarnessAccount>
  call(path: string, init?: CallInit): Promise<ApiResponse>
  /** Names of temporary files of uploads. */
  scratch(): Promise<readonly string[]>
  /** Total bytes of these files. */
  scratchBytes(): Promise<number>
  /** The API's log. */
  log(): Promise<string>
  /** Begins the shutdown of the API, as SIGTERM does. */
  stop(): void
  /** Closes the API, but not the database, queue and workers. */
  close(): Promise<void>
}

/** An account of a harness, with a live and a test key. */
export interface HarnessAccount {
  readonly id: string
  readonly live: string
  readonly test: string
}

/** A request of a test; default: a GET without key. */
export interface CallInit {
  readonly key?: string
  readonly method?: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** A complete response. */
export interface ApiResponse {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The body as JSON; undefined if it is not JSON. */
  readonly json: unknown
}

/**
 * Starts a harness; settings are given as in the environment.
 *
 * @param through opens a proxy in front of the database, which only the API uses
 */
export async function openApiHarness(
  env: Readonly<Record<string, string>> = {},
  through?: (databaseUrl: string) => Promise<AsyncDisposable & { readonly url: string }>,
): Promise<ApiHarness> {
  await using stack = new AsyncDisposableStack()
  const database = stack.use(await createTestDatabase())
  const dataDir = stack.use(await mkdtempDisposable(join(tmpdir(), 'plumbline-api-'))).path
  const db = stack.use(openDatabase({ url: database.url, poolSize: 4, applicationName: 'test' }))
  const metering = stack.use(createMetering(db))
  const servingUrl = servingUrlOf(database.url)
  await grantServing(db, servingUrl)
  const proxy = through === undefined ? undefined : stack.use(await through(servingUrl))
  const settings = readSettings(apiSettings, {
    DATABASE_URL: proxy?.url ?? servingUrl,
    WORKERS_WAIT_SECONDS: '0',
    DATA_DIR: dataDir,
    PORT: '0',
    ADMIN_PORT: '0',
    LOG_LEVEL: 'trace',
    STOP_DELAY_SECONDS: '0',
    DRAIN_SECONDS: '1',
    EVENTS_EVERY_MS: '50',
    ...env,
  })
  const stopping = new AbortController()
  const logPath = join(dataDir, 'log')
  // Left open: the log is written asynchronously, and a closed descriptor may be reused for another file.
  const logFile = openSync(logPath, 'a')
  const api: Api = stack.use(
    await serve(
      settings,
      createLog({ name: 'api', level: settings.LOG_LEVEL, destination: logFile }),
      stopping.signal,
    ),
  )
  const { REDIS_URL: redisUrl } = settings
  const queue = stack.use(
    redisUrl === undefined
      ? await openPostgresTestQueue(database.url)
      : await openRedisTestQueue(redisUrl, 'plumbline'),
  )
  const asked: string[] = []
  const harness: ApiHarness = {
    url: `http://127.0.0.1:${api.port}`,
    adminUrl: `http://127.0.0.1:${api.adminPort}`,
    db,
    metering,
    asked,
    answer: undefined,
    account: (options) => makeAccount(db, metering, options),
    call: (path, init) => call(`http://127.0.0.1:${api.port}${path}`, init),
    scratch: async () => (await scratchFiles(dataDir)).map(({ name }) => name),
    scratchBytes: async () => {
      const files = await scratchFiles(dataDir)
      const sizes = files.map(
        async ({ parentPath, name }) => (await stat(join(parentPath, name))).size,
      )
      return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
    },
    log: () => readFile(logPath, 'utf8'),
    stop: () => stopping.abort(),
    close: async () => {
      await api[Symbol.asyncDispose]()
    },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  }
  for (const check of CHECKS) stack.use(await startWorker(harness, queue, check))
  const closing = stack.move()
  return harness
}

/** Files that are being written. */
async function scratchFiles(dataDir: string): Promise<readonly Dirent[]> {
  const root = join(dataDir, 'scratch')
  const folders = await readdir(root)
  // Not recursive: the directory of a heartbeat is gone at once.
  const found = await Promise.all(
    folders.map((folder) => readdir(join(root, folder), { withFileTypes: true })),
  )
  return found.flat().filter((entry) => entry.isFile())
}

/** Starts a worker of a check, which answers as the test says. */
async function startWorker(
  harness: ApiHarness,
  queue: TestQueue,
  check: Check,
): Promise<AsyncDisposable> {
  return await serveLive(
    queue.backend,
    check,
    async ({ subject, signal }) => {
      const over = new Promise<undefined>((resolve) => {
        signal.addEventListener('abort', () => resolve(undefined), { once: true })
      })
      harness.asked.push(subject)
      if (harness.answer === undefined) return outcomeFor(check, subject)
      return await Promise.race([harness.answer(check, subject), over])
    },
    { onError: () => undefined },
  )
}

async function makeAccount(
  db: Db,
  metering: Metering,
  options: { plan?: Plan; credits?: number } = {},
): Promise<HarnessAccount> {
  const { plan = 'pro', credits } = options
  const account = await createAccount(db, { email: 'ada@example.com', plan })
  const { key: live } = await createKey(db, { accountId: account.id, mode: 'live', service: 'svc' })
  const test =
    plan === 'free'
      ? ''
      : (await createKey(db, { accountId: account.id, mode: 'test', service: 'svc' })).key
  if (credits !== undefined) await spendDownTo(metering, account.id, credits)
  return { id: account.id, live, test }
}

/** Debits until exactly `credits` are left. */
async function spendDownTo(metering: Metering, accountId: string, credits: number): Promise<void> {
  const left = (await metering.remaining(accountId)) ?? 0
  if (left <= credits) return
  const opKey = `test:${accountId}`
  await metering.debit({ accountId, opKey, credits: left - credits })
  await metering.finalize({ accountId, opKey })
}

async function call(url: string, init: CallInit = {}): Promise<ApiResponse> {
  const { key, body, method = body === undefined ? 'GET' : 'POST', headers = {} } = init
  const plain = typeof body === 'string' || body instanceof FormData || body instanceof Uint8Array
  const response = await fetch(url, {
    method,
    headers: {
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined || body instanceof FormData
        ? {}
        : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: plain ? asBody(body) : JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, json: parsed(text) }
}

function asBody(body: unknown): string | FormData | Uint8Array<ArrayBuffer> {
  // Safe because a body that is not sent as JSON is of a type that `fetch` accepts.
  return body as string | FormData | Uint8Array<ArrayBuffer>
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
