import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Plan } from '@plumbline/contract/plans'
import { createAccount } from '@plumbline/db/accounts'
import { openDatabase, type Db } from '@plumbline/db/database'
import { createKey } from '@plumbline/db/keys'
import { migrate } from '@plumbline/db/migrate'
import { grantGoodwill } from '@plumbline/metering/grant'
import { grantServing } from '@plumbline/db/serving-role'
import { migrateQueue } from '@plumbline/queue/postgres-queues'
import { fileOfProgram, type Program } from './bundled-programs.ts'
import { servingUrlOf } from './postgres.ts'

/** Options of a service for a test or benchmark. */
export interface ServiceOptions {
  readonly databaseUrl: string
  /** URL of Redis for the queue; absent: the queue is on Postgres. */
  readonly redisUrl?: string | undefined
  /** Worker processes, each with its arguments: `['email', 'batch', '--delay=20']`. */
  readonly workers: readonly (readonly string[])[]
  /** `instant` engines answer from memory; `real` ones over sockets. */
  readonly engines?: 'instant' | 'real'
  readonly env?: Readonly<Record<string, string>>
  /** Additional environment of each worker, by its index. */
  readonly workerEnv?: (at: number) => Readonly<Record<string, string>>
  /** Data directory of the processes; absent: a temporary one. */
  readonly dataDir?: string | undefined
  /** V8 flags of a process; `batch` is a worker for batches alone. */
  readonly execArgv?: (program: 'api' | 'worker' | 'batch') => readonly string[]
  /**
   * Folder with the sources of another version, to which the database was migrated; absent: this version.
   */
  readonly root?: string
  /** File descriptor for the output of all processes; absent: the output of this process. */
  readonly output?: number
}

/** One process of a service, which a test may kill and restart. */
export interface Member {
  readonly name: string
  readonly process: ChildProcess
  /** URL of the admin port, which workers have only if it is set. */
  readonly adminUrl: string
  kill(signal?: NodeJS.Signals): Promise<void>
  /** Starts the process again after a kill. */
  restart(): Promise<void>
}

/** An account with a live and a test key. */
export interface Account {
  readonly id: string
  readonly liveKey: string
  readonly testKey: string
}

/** A running service: an API and workers as processes of their own. */
export interface TestService extends AsyncDisposable {
  readonly url: string
  readonly adminUrl: string
  readonly dataDir: string
  readonly db: Db
  readonly api: Member
  readonly workers: readonly Member[]
  account(options?: { plan?: Plan; credits?: number }): Promise<Account>
  /** Calls a path with a key; the body is sent as JSON unless it is a form. */
  call(key: string, method: string, path: string, body?: unknown): Promise<Response>
}

/** Starts API and workers on a database, and waits until all are ready. */
export async function startService(options: ServiceOptions): Promise<TestService> {
  await using stack = new AsyncDisposableStack()
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'plumbline-service-')))
  if (options.dataDir === undefined) {
    stack.defer(() => rm(dataDir, { recursive: true, force: true }))
  }
  const db = stack.use(
    openDatabase({ url: options.databaseUrl, poolSize: 4, applicationName: 'test' }),
  )
  const servingUrl = servingUrlOf(options.databaseUrl)
  if (options.root === undefined) {
    await migrate(db)
    await migrateQueue(options.databaseUrl)
    await grantServing(db, servingUrl)
  }
  const env = {
    ...process.env,
    LOG_LEVEL: process.env['TEST_LOG_LEVEL'] ?? 'fatal',
    PORT: '0',
    ADMIN_PORT: '0',
    DATA_DIR: dataDir,
    // As in production, programs connect with the serving role.
    DATABASE_URL: servingUrl,
    WORKERS_WAIT_SECONDS: '0',
    // No load balancer routes requests to the API.
    STOP_DELAY_SECONDS: '0',
    // Successive services may use one database, each with its own directory.
    INSTALLATION_KEY: 'the key of a test, which hides nothing',
    ...(options.redisUrl === undefined ? {} : { REDIS_URL: options.redisUrl }),
    // Tests and benchmarks exceed the rate limit of an account.
    RATE_LIMIT_PER_SECOND: '1000000',
    RATE_LIMIT_BURST: '1000000',
    ...options.env,
  }
  const started: Member[] = []
  stack.defer(async () => {
    await Promise.all(started.map((member) => member.kill('SIGTERM')))
  })
  const start = async (
    name: string,
    program: Program,
    args: readonly string[],
    own: Readonly<Record<string, string>> = {},
  ): Promise<Running> => {
    const path = fileOfProgram(program, options.root)
    const running = await startMember(name, path, args, { ...env, ...own }, options)
    started.push(running.member)
    return running
  }
  const api = await start('api', 'api', [])
  const workers = await Promise.all(
    options.workers.map((words, at) =>
      start(words.join(' '), options.engines ?? 'instant', words, options.workerEnv?.(at)),
    ),
  )
  const owned = stack.move()
  const service: TestService = {
    get url() {
      return `http://127.0.0.1:${String(api.facts()['port'])}`
    },
    get adminUrl() {
      return `http://127.0.0.1:${String(api.facts()['adminPort'])}`
    },
    dataDir,
    db,
    api: api.member,
    workers: workers.map(({ member }) => member),
    account: (wanted) => makeAccount(db, wanted),
    call: (key, method, path, body) => callService(service.url, key, method, path, body),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
  return service
}

async function makeAccount(
  db: Db,
  options: { plan?: Plan; credits?: number } = {},
): Promise<Account> {
  const account = await createAccount(db, {
    email: 'test@example.com',
    plan: options.plan ?? 'pro',
  })
  if (options.credits !== undefined) {
    await grantGoodwill(db, account.id, options.credits, `test:${account.id}`)
  }
  const live = await createKey(db, { accountId: account.id, mode: 'live', service: 'svc' })
  const test =
    options.plan === 'free'
      ? undefined
      : await createKey(db, { accountId: account.id, mode: 'test', service: 'svc' })
  return { id: account.id, liveKey: live.key, testKey: test?.key ?? '' }
}

async function callService(
  url: string,
  key: string,
  method: string,
  path: string,
  body?: unknown,
): Promise<Response> {
  const form = body instanceof FormData
  return await fetch(new URL(path, url), {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      ...(form || body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: form ? body : JSON.stringify(body) }),
  })
}

interface Running {
  readonly member: Member
  facts(): Readonly<Record<string, unknown>>
}

async function startMember(
  name: string,
  path: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  { execArgv, output }: Pick<ServiceOptions, 'execArgv' | 'output'>,
): Promise<Running> {
  let facts: Readonly<Record<string, unknown>> = {}
  const flags = execArgv?.(name === 'api' || name === 'batch' ? name : 'worker') ?? []
  const launch = async (extra: NodeJS.ProcessEnv): Promise<ChildProcess> => {
    const child = fork(path, [...args], {
      env: { ...env, ...extra },
      execArgv: ['--disable-warning=ExperimentalWarning', ...flags],
      stdio: ['ignore', output ?? 'inherit', output ?? 'inherit', 'ipc'],
    })
    const [message]: unknown[] = await Promise.race([
      once(child, 'message'),
      once(child, 'exit').then(([code]: unknown[]) => {
        throw new Error(`${name} ended with ${String(code)} before it was ready`)
      }),
    ])
    if (typeof message === 'object' && message !== null) facts = { ...message }
    return child
  }
  let child = await launch({})
  const member: Member = {
    name,
    get process() {
      return child
    },
    get adminUrl() {
      return `http://127.0.0.1:${String(facts['adminPort'])}`
    },
    kill: async (signal = 'SIGKILL') => {
      if (child.exitCode !== null || child.signalCode !== null) return
      const gone = once(child, 'exit')
      child.kill(signal)
      const late = setTimeout(() => child.kill('SIGKILL'), 30_000)
      await gone
      clearTimeout(late)
    },
    restart: async () => {
      // The same port as before, so that clients can reconnect.
      const port = facts['port']
      child = await launch(typeof port === 'number' ? { PORT: String(port) } : {})
    },
  }
  return { member, facts: () => facts }
}
