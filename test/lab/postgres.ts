import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdirSync } from 'node:fs'
import { mkdtempDisposable, rm } from 'node:fs/promises'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { openDatabase } from '@plumbline/db/database'
import {
  freePort,
  startChildServer,
  withoutRoot,
  type ChildServer,
} from '@plumbline/testkit/child-server'

/** Folder of Postgres's programs in Debian 12. */
const PROGRAMS = '/usr/lib/postgresql/15/bin'

/** A primary with an asynchronous standby, reached at one address as with a virtual IP. */
export interface PostgresPair extends AsyncDisposable {
  readonly url: string
  /** Kills the primary with SIGKILL; the next start recovers from the write-ahead log. */
  crash(): Promise<void>
  start(): Promise<void>
  /** Makes a new standby if the last one was promoted. */
  renewStandby(): Promise<void>
  /** Stops replication to the standby. */
  holdBack(): Promise<void>
  /** Promotes the standby, and routes the address to it. */
  promote(): Promise<void>
  /**
   * Runs `pg_dump`, whose output is read slowly for `slowMs` and then at full speed.
   *
   * @throws if the dump fails, or is complete before `slowMs` is over
   */
  dump(slowMs: number): Promise<void>
}

/** The primary or the standby. */
interface Server {
  readonly data: string
  readonly port: number
  child: ChildServer | undefined
}

/** Starts both servers on directories of their own, durable as in production. */
export async function startPostgresPair(): Promise<PostgresPair> {
  await using stack = new AsyncDisposableStack()
  const dir = stack.use(await mkdtempDisposable(join(tmpdir(), 'plumbline-lab-'))).path
  ownDirectory(dir)
  let primary: Server = { data: join(dir, 'one'), port: await freePort(), child: undefined }
  let standby: Server = { data: join(dir, 'other'), port: await freePort(), child: undefined }
  const both = [primary, standby]
  stack.defer(async () => {
    for (const { child } of both) await child?.stop()
  })
  ownDirectory(primary.data)
  run('initdb', ['-D', primary.data, '-U', 'plumbline', '-A', 'trust', '-E', 'UTF8'])
  await start(primary)
  await follow(primary, standby)
  const address = stack.use(await openAddress(primary.port))
  const owned = stack.move()
  let sender: number | undefined
  return {
    url: urlOf(address.port),
    crash: () => stop(primary),
    start: () => start(primary),
    renewStandby: async () => {
      if (standby.child === undefined) await follow(primary, standby)
    },
    holdBack: async () => {
      const { pid } = await ask<{ pid: number }>(
        primary.port,
        'select pid from pg_stat_replication',
      )
      sender = pid
      process.kill(pid, 'SIGSTOP')
    },
    promote: async () => {
      // Otherwise it would send the rest of the log to the standby while the primary stops.
      if (sender !== undefined) process.kill(sender, 'SIGKILL')
      await stop(primary)
      await ask(standby.port, 'select pg_promote()')
      address.routeTo(standby.port)
      ;[primary, standby] = [standby, primary]
    },
    dump: (slowMs) => dump(urlOf(address.port), slowMs),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** Makes a server the standby of another, on an empty directory. */
async function follow(primary: Server, standby: Server): Promise<void> {
  await rm(standby.data, { recursive: true, force: true })
  ownDirectory(standby.data)
  const from = ['-h', '127.0.0.1', '-p', String(primary.port), '-U', 'plumbline']
  run('pg_basebackup', ['-D', standby.data, ...from, '-R', '--checkpoint=fast'])
  await start(standby)
}

async function start(server: Server): Promise<void> {
  server.child = await startOn(server.data, server.port)
}

async function stop(server: Server): Promise<void> {
  await server.child?.stop()
  server.child = undefined
}

function ownDirectory(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 })
  const { uid, gid } = withoutRoot()
  if (uid !== undefined && gid !== undefined) chownSync(path, uid, gid)
}

function run(program: string, args: readonly string[]): void {
  const { status, stderr } = spawnSync(join(PROGRAMS, program), args, {
    encoding: 'utf8',
    ...withoutRoot(),
  })
  if (status !== 0) throw new Error(`${program} failed: ${stderr}`)
}

async function startOn(data: string, port: number): Promise<ChildServer> {
  const settings = [
    `port=${port}`,
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    'max_connections=200',
  ]
  return await startChildServer(
    join(PROGRAMS, 'postgres'),
    ['-D', data, ...settings.flatMap((setting) => ['-c', setting])],
    { ready: 'ready to accept', signal: 'SIGQUIT' },
  )
}

async function ask<T extends object>(port: number, statement: string): Promise<T> {
  await using db = openDatabase({ url: urlOf(port), poolSize: 1, applicationName: 'lab' })
  const { rows } = await db.pool.query<T>(statement)
  const [row] = rows
  if (row === undefined) throw new Error(`no row: ${statement}`)
  return row
}

/** Bytes that the slow reader reads at a time, and its interval, so that no dump is complete too soon. */
const READ = { bytes: 1_024, everyMs: 100 }

/** The last line of a complete dump. */
const COMPLETE = '-- PostgreSQL database dump complete'

async function dump(url: string, slowMs: number): Promise<void> {
  const program = spawn(join(PROGRAMS, 'pg_dump'), ['-d', url], {
    stdio: ['ignore', 'pipe', 'inherit'],
    ...withoutRoot(),
  })
  const exited = once(program, 'exit')
  const { stdout } = program
  stdout.setEncoding('utf8')
  const slowUntilMs = performance.now() + slowMs
  while (performance.now() < slowUntilMs) {
    await wait(READ.everyMs)
    stdout.read(READ.bytes)
  }
  if (program.exitCode !== null) throw new Error(`pg_dump ended early, with ${program.exitCode}`)
  let last = ''
  for await (const text of stdout) last = `${last}${String(text)}`.slice(-1_000)
  const [code]: unknown[] = await exited
  if (code !== 0 || !last.includes(COMPLETE)) throw new Error(`pg_dump ended with ${String(code)}`)
}

function urlOf(port: number): string {
  return `postgres://plumbline@127.0.0.1:${port}/postgres`
}

/**
 * A port of loopback that forwards to another, and breaks its connections when it is redirected.
 */
async function openAddress(
  target: number,
): Promise<AsyncDisposable & { readonly port: number; routeTo(port: number): void }> {
  let port = target
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const behind = connect(port, '127.0.0.1')
    for (const socket of [client, behind]) {
      sockets.add(socket)
      socket.setNoDelay(true)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        sockets.delete(socket)
        client.destroy()
        behind.destroy()
      })
    }
    client.pipe(behind)
    behind.pipe(client)
  })
  const own = await freePort()
  await new Promise<void>((listening) => server.listen(own, '127.0.0.1', listening))
  return {
    port: own,
    routeTo: (next) => {
      port = next
      for (const socket of sockets) socket.destroy()
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((closed) => server.close(closed))
    },
  }
}
