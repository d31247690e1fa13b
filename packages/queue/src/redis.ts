import { withTimeOut } from '@plumbline/concurrency/time-out'
import { Cluster, Redis } from 'ioredis'

/** A Redis or Valkey server, or a cluster of them. */
export interface RedisServer extends AsyncDisposable {
  /** For single commands: those of one moment travel together. */
  readonly commands: Redis | Cluster
  /** Begins the name of every key, so that several installations can share a server. */
  readonly prefix: string
  /** One more connection; its owner closes it. */
  connect(role: ConnectionRole): Redis | Cluster
}

/** `fetch` waits as long as the server is away, `add` and `listen` as ioredis does by default. */
export type ConnectionRole = 'add' | 'fetch' | 'listen'

/** Which Redis, and what its keys begin with. */
export interface RedisServerOptions {
  /**
   * `redis://`, `rediss://`, or for a cluster `redis-cluster://` or `rediss-cluster://`, each as
   * `user:password@host:port/database`, where a cluster takes several `host:port` with commas.
   */
  readonly url: string
  readonly prefix: string
  /** Called for lost connections, which are opened again without it. */
  readonly onError: (error: Error) => void
  /** How long a command waits for its answer; 10 seconds by default. */
  readonly answerMs?: number
}

/** Opens the connection for commands; throws when the URL names no Redis. */
export function openRedis({
  url,
  prefix,
  onError,
  answerMs = ANSWER_MS,
}: RedisServerOptions): RedisServer {
  const inTime = { commandTimeout: answerMs, socketTimeout: answerMs }
  const open = (options: ConnectionSettings): Redis | Cluster => {
    const client = connectionOf(url, options)
    client.on('error', onError)
    return client
  }
  const commands = open({ enableAutoPipelining: true, maxRetriesPerRequest: 3, ...inTime })
  return {
    commands,
    prefix,
    connect: (role) => open(role === 'add' ? { ...ROLES.add, ...inTime } : ROLES[role]),
    [Symbol.asyncDispose]: () => closeRedis(commands),
  }
}

/** Ends a connection after its last answer, or at once when the server is away. */
export async function closeRedis(client: Redis | Cluster): Promise<void> {
  if (client.status !== 'ready') return client.disconnect()
  await withTimeOut(CLOSE_MS, client.quit()).catch(() => client.disconnect())
}

/** How long a server that has stopped answering can delay the end of a process. */
export const CLOSE_MS = 1_000

/**
 * A network that loses what is sent, and resets nothing, would keep a command waiting for a quarter of an hour,
 * and whoever dispatches with it. Those that fetch and listen wait on purpose.
 */
const ANSWER_MS = 10_000

const ROLES: Readonly<Record<ConnectionRole, ConnectionSettings>> = {
  add: { maxRetriesPerRequest: 3 },
  // BullMQ refuses to fetch over a connection that gives up.
  fetch: { maxRetriesPerRequest: null },
  listen: { maxRetriesPerRequest: null },
}

interface ConnectionSettings {
  readonly maxRetriesPerRequest: number | null
  readonly enableAutoPipelining?: boolean
  /** After so long a command fails, and its connection is opened anew. */
  readonly commandTimeout?: number
  readonly socketTimeout?: number
}

function connectionOf(url: string, options: ConnectionSettings): Redis | Cluster {
  const match = /^(rediss?)(-cluster)?:\/\/(.+)$/.exec(url)
  if (match === null) {
    throw new Error(`a Redis URL begins with redis:// or redis-cluster://, met ${scheme(url)}`)
  }
  const [, plain = '', cluster, rest = ''] = match
  if (cluster === undefined) return new Redis(url, { ...options, connectionName: 'plumbline' })
  const at = rest.lastIndexOf('@') + 1
  const login = rest.slice(0, at)
  const hosts = rest.slice(at).replace(/\/.*$/, '').split(',')
  const first = new URL(`${plain}://${login}${hosts[0] ?? ''}`)
  const nodes = hosts.map((host) => ({ ...hostAndPort(new URL(`${plain}://${host}`)) }))
  return new Cluster(nodes, {
    enableAutoPipelining: options.enableAutoPipelining ?? false,
    redisOptions: {
      maxRetriesPerRequest: options.maxRetriesPerRequest ?? null,
      ...(options.commandTimeout === undefined ? {} : { commandTimeout: options.commandTimeout }),
      ...(options.socketTimeout === undefined ? {} : { socketTimeout: options.socketTimeout }),
      ...(first.username === '' ? {} : { username: decodeURIComponent(first.username) }),
      ...(first.password === '' ? {} : { password: decodeURIComponent(first.password) }),
      ...(plain === 'rediss' ? { tls: {} } : {}),
    },
  })
}

function hostAndPort(url: URL): { host: string; port: number } {
  return { host: url.hostname, port: url.port === '' ? 6379 : Number(url.port) }
}

/** Only the scheme: the rest may hold a password. */
function scheme(url: string): string {
  return JSON.stringify(url.slice(0, Math.max(0, url.indexOf(':'))))
}
