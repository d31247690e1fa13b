import { chmod, mkdir, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { styleText } from 'node:util'
import { openDatabase } from '@plumbline/db/database'
import type { Log } from '@plumbline/ports/log'
import { createLog } from '@plumbline/runtime/log'
import { keepFilesPrivate } from '@plumbline/runtime/private-files'
import { processEnvironment, readSettings, type Environment } from '@plumbline/runtime/settings'
import { runUntilStopped, reportReady } from '@plumbline/runtime/shutdown'
import { startOrExit } from '@plumbline/runtime/start'
import { PROGRAMS, supervise, type ProgramName, type ReadyFacts } from './children.ts'
import {
  createFirstAccount,
  createWelcomeCode,
  writeFirstKeys,
  type FirstAccount,
} from './first-account.ts'
import { lockDataDir } from './data-dir-lock.ts'
import { keepPostgres, type KeptPostgres } from './keep-postgres.ts'
import { refuseMoved } from './moved-mark.ts'
import { ownerUrl, prepareDatabase, type DatabaseUrls } from './prepare-database.ts'
import { removeServiceFile, writeServiceFile } from './service-file.ts'
import { serviceUrl, welcomeUrl } from './service-url.ts'
import { localSettings, type LocalSettings } from './settings.ts'

// Everything on one machine: Postgres where none is given, the API, a worker for the checks and one
// for batches. Prints where it listens and, the first time, the keys of a first account; without a
// terminal the keys go to a file.

/** Milliseconds that closing a program may take beyond its delay on `/readyz` and its drain. */
const CLOSING_MS = 10_000

const program = 'Plumbline'
keepFilesPrivate()
const settings = await startOrExit(program, () => readSettings(localSettings))
const log = createLog({ name: 'local', level: settings.LOG_LEVEL, destination: 2 })
// The API stops first, then the workers.
const stopMs = 2 * graceOf(settings) + 30_000
await runUntilStopped({ program, log, graceMs: stopMs }, () => startEverything(settings, log))

/** Milliseconds that a program may take to stop. */
function graceOf({
  STOP_DELAY_SECONDS,
  DRAIN_SECONDS,
}: Pick<LocalSettings, 'STOP_DELAY_SECONDS' | 'DRAIN_SECONDS'>): number {
  return (STOP_DELAY_SECONDS + DRAIN_SECONDS) * 1000 + CLOSING_MS
}

async function startEverything(
  { DATA_DIR, REDIS_URL, KEY_PREFIX, HOST, ...given }: LocalSettings,
  out: Log,
): Promise<AsyncDisposable> {
  const dataDir = resolve(DATA_DIR)
  await mkdir(dataDir, { recursive: true })
  await closeToOthers(dataDir)
  await using stack = new AsyncDisposableStack()
  // Before anything of the directory is touched.
  stack.use(await lockDataDir(dataDir))
  const { source, ...urls } = await databaseUrls(given, dataDir, stack, out)
  let keysFile: string | undefined
  const keep = async (made: FirstAccount): Promise<void> => {
    if (!process.stdout.isTTY) keysFile = await writeFirstKeys(dataDir, made)
  }
  const { firstAccount, welcomeCode } = await prepare(source, urls, KEY_PREFIX, keep)
  let account = firstAccount === undefined ? '' : accountText(firstAccount, keysFile)
  // Also if the start fails, as where a port is in use: the next one makes no account.
  stack.defer(() => void process.stdout.write(account))

  const announced = Promise.withResolvers<string>()
  const workersUp = Promise.withResolvers<void>()
  const announce = async (facts: ReadyFacts, tell: (word: string) => void): Promise<void> => {
    const url = serviceUrl(HOST, String(facts['port']))
    // The first time; an API that comes back is found at once.
    await workersUp.promise
    const adminUrl = `http://127.0.0.1:${String(facts['adminPort'])}`
    await writeServiceFile(dataDir, {
      pid: process.pid,
      url,
      adminUrl,
      databaseUrl: urls.direct ?? urls.serving,
      redisUrl: REDIS_URL ?? null,
      keyPrefix: KEY_PREFIX,
    })
    tell('found')
    announced.resolve(url)
  }
  const unannounced = (error: unknown): void => {
    out.error({ err: error }, 'the command line does not find the service')
    announced.reject(error)
  }
  const graceMs = graceOf(given)
  const env = environmentOfChildren(dataDir, urls.serving)
  const [api, ...workers] = PROGRAMS.map((program) =>
    supervise(program, {
      env: withOwnAdminPort(env, program.name),
      log: out,
      graceMs,
      ...(program.name === 'api' && {
        onReady: (facts, tell) => void announce(facts, tell).catch(unannounced),
      }),
    }),
  )
  // The API first: its last responses need the workers.
  stack.defer(async () => {
    await api?.[Symbol.asyncDispose]()
    await Promise.all(workers.map((worker) => worker[Symbol.asyncDispose]()))
  })
  stack.defer(() => removeServiceFile(dataDir))
  await Promise.all([api?.ready, ...workers.map((worker) => worker.ready)])
  workersUp.resolve()
  const url = await announced.promise
  const welcome = welcomeCode === undefined ? undefined : welcomeUrl(url, welcomeCode)
  if (keysFile !== undefined && firstAccount !== undefined) {
    await writeFirstKeys(dataDir, firstAccount, welcome)
  }
  greet(url, account)
  account = ''
  if (process.stdout.isTTY && welcomeCode !== undefined) showWelcome(welcome)
  reportReady({ url })
  const owned = stack.move()
  return { [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

/**
 * Removes other users' permissions of the folder; if run as root they may pass through it to their
 * own files, but not list it.
 */
async function closeToOthers(dataDir: string): Promise<void> {
  const others = process.getuid?.() === 0 ? 0o066 : 0o077
  const { mode } = await stat(dataDir)
  // Only the owner of a folder can change its mode.
  await chmod(dataDir, mode & 0o7777 & ~others).catch(() => undefined)
}

/** The URLs of the database, and what gave them, for messages. */
async function databaseUrls(
  {
    DATABASE_URL: serving,
    MIGRATE_DATABASE_URL: owner = serving,
    DATABASE_DIRECT_URL: direct,
  }: Pick<LocalSettings, 'DATABASE_URL' | 'MIGRATE_DATABASE_URL' | 'DATABASE_DIRECT_URL'>,
  dataDir: string,
  stack: AsyncDisposableStack,
  out: Log,
): Promise<DatabaseUrls & { readonly source: string }> {
  if (serving !== undefined && owner !== undefined)
    return { source: 'the database of DATABASE_URL', owner, serving, direct }
  const { url, servingUrl } = await startPostgres(dataDir, stack, out)
  return { source: 'the packaged Postgres', owner: url, serving: servingUrl, direct }
}

/**
 * The children's environment, without settings that only migrations use; the children read secrets
 * from files themselves.
 */
function environmentOfChildren(dataDir: string, databaseUrl: string): Environment {
  const {
    MIGRATE_DATABASE_URL: _owner,
    MIGRATE_DATABASE_URL_FILE: _ownerFile,
    DATABASE_URL_FILE: _servingFile,
    ...passed
  } = processEnvironment()
  return { ...passed, DATA_DIR: dataDir, DATABASE_URL: databaseUrl }
}

/** The batch worker takes the port after that of the worker for checks. */
function withOwnAdminPort(environment: Environment, program: ProgramName): Environment {
  const { WORKER_ADMIN_PORT: port = '' } = environment
  // 0 takes a free port, and what is not a port is refused by the worker itself.
  if (program !== 'batch' || !/^[1-9]\d*$/.test(port)) return environment
  return { ...environment, WORKER_ADMIN_PORT: String(Number(port) + 1) }
}

async function startPostgres(
  dataDir: string,
  stack: AsyncDisposableStack,
  out: Log,
): Promise<KeptPostgres> {
  await refuseMoved(dataDir)
  const warn = (message: string): void => out.warn({}, message)
  return stack.use(await keepPostgres({ dataDir, warn }, out))
}

async function prepare(
  source: string,
  urls: DatabaseUrls,
  service: string,
  keep: (account: FirstAccount) => Promise<void>,
): Promise<{
  readonly firstAccount: FirstAccount | undefined
  readonly welcomeCode: string | undefined
}> {
  await using db = openDatabase({ url: ownerUrl(urls), poolSize: 2, applicationName: 'local' })
  try {
    await prepareDatabase(db, urls)
  } catch (cause) {
    throw new Error(`${source} cannot be prepared`, { cause })
  }
  const firstAccount = await createFirstAccount(db, service, keep)
  return { firstAccount, welcomeCode: await createWelcomeCode(db) }
}

function showWelcome(welcome: string | undefined): void {
  const lines =
    welcome === undefined
      ? [
          'Browsers sign in by HTTPS or on this machine: set PUBLIC_URL and use',
          '"npm run -s cli -- user link EMAIL", or set HOST to 127.0.0.1 or 0.0.0.0.',
        ]
      : [
          'Open this link on this machine within an hour to choose an email and a password:',
          `  ${styleText('bold', welcome)}`,
          '"npm run -s cli -- user link EMAIL" makes a new one.',
        ]
  process.stdout.write(`\n${lines.join('\n')}\n`)
}

function greet(url: string, account: string): void {
  process.stdout.write(
    `Plumbline listens on ${styleText('bold', url)}  (reference: ${url}/docs)\n${account}`,
  )
}

function accountText(account: FirstAccount, keysFile: string | undefined): string {
  const another = `"npm run -s cli -- key create ${account.accountId} --mode live" makes a new one.`
  const lines = ['', `A first account was made: ${account.accountId} (plan pro)`]
  if (keysFile === undefined) {
    lines.push(`  live key: ${account.liveKey}`, `  test key: ${account.testKey}`)
    lines.push(`They are not shown again; ${another}`)
  } else {
    lines.push(
      `  its keys, and the link that opens it in a browser: ${keysFile}`,
      `Remove that file once they are kept elsewhere; ${another}`,
    )
  }
  return `${lines.join('\n')}\n`
}
