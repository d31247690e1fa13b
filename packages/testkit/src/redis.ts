import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { freePort } from './child-server.ts'

/** A Redis server for one test. */
export interface TestRedis extends AsyncDisposable {
  readonly url: string
  readonly pid: number
  /** Kills the server and removes its files. */
  stop(): Promise<void>
}

/** Attempts with another port: a port may be taken between the check and the start. */
const TRIES = 5

/**
 * Starts Redis or Valkey on a free port of loopback, with its append-only file synced each second
 * as in production; null if neither is installed. With `cluster` it is a cluster of one node; `port` is
 * that of a server that was stopped; `maxMemory` a limit such as `10mb`. With `tls`, a certificate of
 * `localhost` and its key (PEM), it only accepts TLS, and a cluster names its node `localhost`.
 */
export async function startRedis({
  cluster = false,
  port,
  maxMemory = '0',
  tls,
}: {
  cluster?: boolean
  port?: number
  maxMemory?: string
  tls?: ServerCertificate
} = {}): Promise<TestRedis | null> {
  const binary = installed('redis-server') ?? installed('valkey-server')
  if (binary === null) return null
  for (let tries = 1; tries <= TRIES; tries++) {
    const server = await startOn(port ?? (await freePort()), binary, { cluster, maxMemory, tls })
    if (server !== undefined) return server
  }
  throw new Error(`the Redis server ended while starting, ${TRIES} times over`)
}

/**
 * As `startRedis`, for tests that are skipped where there is none.
 *
 * @throws if there is none
 */
export async function openRedisServer(
  options?: Parameters<typeof startRedis>[0],
): Promise<TestRedis> {
  const server = await startRedis(options)
  if (server === null) throw new Error('redis-server is not installed')
  return server
}

interface ServerCertificate {
  readonly cert: string
  readonly key: string
}

interface ServerKind {
  readonly cluster: boolean
  readonly maxMemory: string
  readonly tls: ServerCertificate | undefined
}

/** Undefined if the server ended before it accepted connections; its output says why. */
async function startOn(
  port: number,
  binary: string,
  { cluster, maxMemory, tls }: ServerKind,
): Promise<TestRedis | undefined> {
  const dir = await mkdtemp(join(tmpdir(), 'plumbline-redis-'))
  const settings = {
    port: `${port}`,
    bind: '127.0.0.1',
    dir,
    save: '',
    appendonly: 'yes',
    appendfsync: 'everysec',
    // BullMQ warns of any other.
    'maxmemory-policy': 'noeviction',
    maxmemory: maxMemory,
    ...(cluster ? { 'cluster-enabled': 'yes', 'cluster-announce-ip': '127.0.0.1' } : {}),
    ...(tls === undefined ? {} : await tlsSettings(dir, port, tls)),
  }
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value])
  const server = spawn(binary, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = once(server, 'exit')
  const leave = (): void => void server.kill('SIGKILL')
  process.once('exit', leave)
  async function stop(): Promise<void> {
    process.off('exit', leave)
    leave()
    await exited
    await rm(dir, { recursive: true, force: true })
  }
  let said = ''
  const ready = new Promise<'ready'>((resolve) => {
    server.stdout.setEncoding('utf8').on('data', (text: string) => {
      said = `${said}${text}`.slice(-MOST_SAID)
      if (said.includes('Ready to accept connections')) resolve('ready')
    })
  })
  if ((await Promise.race([ready, exited])) === 'ready' && server.pid !== undefined) {
    const url = tls === undefined ? `redis://127.0.0.1:${port}` : `rediss://localhost:${port}`
    return { url, pid: server.pid, stop, [Symbol.asyncDispose]: stop }
  }
  await stop()
  process.stderr.write(said)
  return undefined
}

async function tlsSettings(
  dir: string,
  port: number,
  { cert, key }: ServerCertificate,
): Promise<Readonly<Record<string, string>>> {
  const files = { cert: join(dir, 'cert.pem'), key: join(dir, 'key.pem') }
  await writeFile(files.cert, cert)
  await writeFile(files.key, key)
  return {
    port: '0',
    'tls-port': `${port}`,
    'tls-cert-file': files.cert,
    'tls-key-file': files.key,
    'tls-ca-cert-file': files.cert,
    'tls-auth-clients': 'no',
    'tls-cluster': 'yes',
    'cluster-announce-hostname': 'localhost',
    'cluster-preferred-endpoint-type': 'hostname',
  }
}

/** Characters of the server's output that are kept while it starts. */
const MOST_SAID = 4_000

function installed(name: string): string | null {
  const folders = (process.env['PATH'] ?? '').split(delimiter)
  return folders.map((folder) => join(folder, name)).find(isExecutable) ?? null
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
