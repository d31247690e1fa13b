import { spawn, type ChildProcess } from 'node:child_process'
import { open, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { settledWithin } from '@plumbline/concurrency/time-out'
import pg from 'pg'
import {
  exitOf,
  identityOf,
  isPostgres,
  makeCluster,
  NAME,
  readPassword,
  readPidFile,
  SERVING_NAME,
  signal,
} from './embedded-cluster.ts'
import { prepareLayout, type ServerLayout } from './embedded-layout.ts'

/** Directory and settings of the packaged Postgres. */
export interface EmbeddedOptions {
  /** Contains `postgres/` with the data, the passwords and the log. */
  readonly dataDir: string
  /** A free port if absent. */
  readonly port?: number
  /** Server settings that override our own. */
  readonly settings?: Readonly<Record<string, string>>
  readonly warn?: (message: string) => void
  /** Ends a start that is under way, which then throws. */
  readonly signal?: AbortSignal
}

/** The packaged Postgres while it runs. */
export interface EmbeddedPostgres {
  /** URL of the superuser: for migrations only. */
  readonly url: string
  /** URL of the role that the service connects as; the first migration creates it. */
  readonly servingUrl: string
  /** Whether another process started the server, and will stop it. */
  readonly joined: boolean
  /** Resolves when the server has ended, stopped or not; never if another process started it. */
  readonly ended: Promise<unknown>
  /** Stops the server if this process started it; waits until its files are closed. */
  stop(): Promise<void>
}

/** Application name of the session that shows that the owner of a running server is alive. */
const OWNER = 'plumbline-owner'

const START_MS = 60_000

/** Milliseconds between two attempts to connect to a server whose file does not say `ready`. */
const ASK_MS = 1_000

const STOP_MS = 30_000

/**
 * Durable as Postgres is by default (fsync, full page writes); the rest is sized for one small
 * machine.
 */
const SETTINGS: Readonly<Record<string, string>> = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '200',
  shared_buffers: '256MB',
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_wal_size: '2GB',
  checkpoint_timeout: '15min',
  log_checkpoints: 'off',
  // The detail of an error contains the values of a row.
  log_error_verbosity: 'terse',
  random_page_cost: '1.1',
  autovacuum_naptime: '15s',
  jit: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
}

/**
 * Starts the packaged Postgres on 127.0.0.1 with its data under `dataDir`, and creates the cluster
 * the first time. If a server with a living owner already uses that directory, joins it. The server
 * ends with `stop`, or when this process dies, even by SIGKILL.
 *
 * @throws if the server cannot start, with the end of its log
 */
export async function startEmbeddedPostgres(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  if (process.platform === 'win32') {
    throw new Error('the embedded Postgres runs on Linux and macOS; set DATABASE_URL')
  }
  const home = resolve(options.dataDir, 'postgres')
  const layout = await prepareLayout(home, options.warn ?? (() => undefined))
  const data = join(layout.base, 'data')
  const password = await readPassword(home, 'password')
  const servingPassword = await readPassword(home, 'serving-password')
  const withServing = (server: Omit<EmbeddedPostgres, 'servingUrl'>): EmbeddedPostgres => ({
    ...server,
    servingUrl: servingUrlOf(server.url, servingPassword),
  })
  await makeCluster(layout, data, password)
  const deadline = Date.now() + START_MS
  for (;;) {
    options.signal?.throwIfAborted()
    const running = await runningServer(data, password)
    if (running !== undefined) return withServing(running)
    const started = await startServer(options, { home, layout, data, password })
    if (started !== undefined) return withServing(started)
    if (Date.now() > deadline) throw new Error(`Postgres did not start: ${await logTail(home)}`)
    await delay(200)
  }
}

interface Cluster {
  readonly home: string
  readonly layout: ServerLayout
  readonly data: string
  readonly password: string
}

/**
 * The running server of the data directory, if its owner is alive; stops one whose owner is gone.
 */
async function runningServer(
  data: string,
  password: string,
): Promise<Omit<EmbeddedPostgres, 'servingUrl'> | undefined> {
  const deadline = Date.now() + STOP_MS
  for (let unowned = 0; Date.now() < deadline;) {
    const file = await readPidFile(data)
    if (file === undefined) return undefined
    const url = urlOf(file.port, password)
    const owned = file.ready ? await hasOwner(url) : 'silent'
    if (owned === 'yes') {
      return { url, joined: true, ended: new Promise(() => {}), stop: async () => undefined }
    }
    if (owned === 'silent' && !(await isPostgres(file.pid))) {
      // Left by a kill; its process id may be another program's by now, which would prevent the
      // start.
      await rm(join(data, 'postmaster.pid'), { force: true })
      return undefined
    }
    // The owner's session comes a moment after `ready`.
    unowned += owned === 'no' ? 1 : 0
    if (unowned === 10) signal(file.pid, 'SIGINT')
    await delay(100)
  }
  throw new Error(`the Postgres that has ${data} open neither answers nor ends; stop it first`)
}

async function hasOwner(url: string): Promise<'yes' | 'no' | 'silent'> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 })
  client.on('error', () => undefined)
  try {
    await client.connect()
    const { rowCount } = await client.query(
      'select from pg_stat_activity where application_name = $1 limit 1',
      [OWNER],
    )
    return rowCount === 1 ? 'yes' : 'no'
  } catch {
    return 'silent'
  } finally {
    await client.end().catch(() => undefined)
  }
}

/**
 * Start-up errors that are temporary. The last one occurs when exiting processes of the old server
 * overwrite what the new one wrote about its memory in the same file.
 */
const PASSING =
  /postmaster\.pid" already exists|pre-existing shared memory|Address already in use|unexpected postmaster exit/

/**
 * Starts the server; undefined if another process was first, or the shared memory of the last one
 * still exists.
 */
async function startServer(
  options: EmbeddedOptions,
  cluster: Cluster,
): Promise<Omit<EmbeddedPostgres, 'servingUrl'> | undefined> {
  const port = options.port ?? (await freePort())
  const child = await spawnServer(cluster, { ...SETTINGS, ...options.settings, port: String(port) })
  const exited = exitOf(child)
  const guard = spawnGuard(cluster.layout, child)
  void exited.then(() => guard.kill('SIGKILL'))
  const url = urlOf(port, cluster.password)
  if (!(await becameReady(cluster.data, child, url, options))) {
    await exited
    const log = await logTail(cluster.home)
    const isPortTaken = options.port !== undefined && log.includes('Address already in use')
    // Both faults end soon: the other server is joined, the processes of the old one are exiting.
    if (!isPortTaken && (PASSING.test(log) || (await isAnothers(cluster.data, child)))) {
      return undefined
    }
    throw new Error(`Postgres ended while starting: ${log}`)
  }
  const owner = await ownServer(url)
  child.unref()
  return {
    url,
    joined: false,
    ended: exited,
    stop: async () => {
      await owner.end().catch(() => undefined)
      child.ref()
      child.kill('SIGINT')
      if (!(await settledWithin(STOP_MS, exited))) child.kill('SIGQUIT')
      await exited
    },
  }
}

/** Whether a server that another process started has the directory; the log may be its, too. */
async function isAnothers(data: string, child: ChildProcess): Promise<boolean> {
  const file = await readPidFile(data)
  return file !== undefined && file.pid !== child.pid
}

async function spawnServer(
  cluster: Cluster,
  settings: Readonly<Record<string, string>>,
): Promise<ChildProcess> {
  // Emptied at each start: the log of one run is bounded, and `logTail` must not read an older one.
  // Appended to, since a server that was first goes on writing to it.
  const log = await open(join(cluster.home, 'server.log'), 'a', 0o600)
  try {
    await log.truncate()
    const child = spawn(
      join(cluster.layout.programs, 'bin/postgres'),
      [
        '-D',
        cluster.data,
        ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
      ],
      // Its own process group, so that Ctrl-C ends us first and we stop it in order.
      {
        ...identityOf(cluster.layout),
        cwd: '/',
        detached: true,
        stdio: ['ignore', log.fd, log.fd],
      },
    )
    child.on('error', () => undefined)
    return child
  } finally {
    await log.close()
  }
}

/**
 * Starts a small process that outlives us: it reads a pipe that closes when we die, then stops the
 * server.
 */
function spawnGuard(layout: ServerLayout, server: ChildProcess): ChildProcess {
  const guard = spawn(
    '/bin/sh',
    ['-c', 'cat >/dev/null; kill -INT "$1"', 'guard', String(server.pid ?? 0)],
    { ...identityOf(layout), cwd: '/', detached: true, stdio: ['pipe', 'ignore', 'ignore'] },
  )
  guard.on('error', () => undefined)
  guard.unref()
  if (guard.stdin !== null && 'unref' in guard.stdin && typeof guard.stdin.unref === 'function') {
    guard.stdin.unref()
  }
  guard.stdin?.on('error', () => undefined)
  return guard
}

/**
 * Waits until the server accepts connections; false if it ended before. It is given any time: after
 * a crash it replays its log, for minutes on a slow disk, and would begin again if it was killed.
 */
async function becameReady(
  data: string,
  child: ChildProcess,
  url: string,
  { warn, signal: stopping }: Pick<EmbeddedOptions, 'warn' | 'signal'>,
): Promise<boolean> {
  let askedMs = Date.now()
  const stop = (): void => void child.kill('SIGINT')
  stopping?.addEventListener('abort', stop)
  if (stopping?.aborted === true) stop()
  const slow = setTimeout(() => {
    warn?.('Postgres has been starting for a minute; after a crash it first replays its log')
  }, START_MS)
  try {
    while (child.exitCode === null && child.signalCode === null && child.pid !== undefined) {
      const file = await readPidFile(data)
      if (file?.ready === true && file.pid === child.pid) return true
      // Exiting processes of the server before may have overwritten the file.
      if (Date.now() - askedMs > ASK_MS) {
        if ((await hasOwner(url)) !== 'silent') return true
        askedMs = Date.now()
      }
      await delay(15)
    }
    return false
  } finally {
    clearTimeout(slow)
    stopping?.removeEventListener('abort', stop)
  }
}

/** Opens the session that marks the server as owned, and creates the database the first time. */
async function ownServer(url: string): Promise<pg.Pool> {
  const admin = new URL(url)
  admin.pathname = '/postgres'
  const owner = new pg.Pool({
    connectionString: admin.href,
    application_name: OWNER,
    max: 1,
    idleTimeoutMillis: 0,
    allowExitOnIdle: true,
  })
  owner.on('error', () => undefined)
  const { rowCount } = await owner.query('select from pg_database where datname = $1', [NAME])
  if (rowCount === 0) await owner.query(`create database ${NAME}`)
  return owner
}

function urlOf(port: number, password: string): string {
  return `postgres://${NAME}:${password}@127.0.0.1:${port}/${NAME}`
}

function servingUrlOf(owner: string, password: string): string {
  const url = new URL(owner)
  url.username = SERVING_NAME
  url.password = password
  return url.href
}

async function logTail(home: string): Promise<string> {
  const text = await readFile(join(home, 'server.log'), 'utf8').catch(() => '')
  return text.trim().split('\n').slice(-8).join(' | ')
}

async function freePort(): Promise<number> {
  const probe = createServer()
  await new Promise<void>((listening, failed) => {
    probe.once('error', failed)
    probe.listen(0, '127.0.0.1', listening)
  })
  const address = probe.address()
  await new Promise((closed) => probe.close(closed))
  if (address === null || typeof address === 'string') throw new Error('no free port on 127.0.0.1')
  return address.port
}
