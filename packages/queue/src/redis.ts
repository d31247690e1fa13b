import { withTimeOut } from '@plumbline/concurrency/time-out'
import { Cluster, Redis } from 'ioredis'
import { readRedisUrl } from './redis-url.ts'

/** A Redis or Valkey server, or a cluster of them. */
export interface RedisServer extends AsyncDisposable {
  /** For single commands: those of the same moment are pipelined. */
  readonly commands: Redis | Cluster
  /** Prefix of every key, so that several installations can share a server. */
  readonly prefix: string
  /** Opens a further connection; its owner closes it. */
  connect(role: ConnectionRole): Redis | Cluster
  /**
   * Whether channels belong to the nodes of a cluster: a message is then sent only to the node of
   * its channel, where an unsharded one would be sent to every node.
   */
  readonly isSharded: boolean
  /** Time-out of a command in milliseconds. */
  readonly commandMs: number
}

/** Purpose of a connection; `add` is for all commands that do not block. */
export type ConnectionRole = 'add' | 'fetch' | 'listen'

/** Options of `openRedis`. */
export interface RedisServerOptions {
  /**
   * `redis://`, `rediss://`, or for a cluster `redis-cluster://` or `rediss-cluster://`, each as
   * `user:password@host:port/database`; a cluster takes several `host:port` separated by commas.
   */
  readonly url: string
  readonly prefix: string
  /** Called for lost connections, which are reopened automatically. */
  readonly onError: (error: Error) => void
  /** Time-out of a command in milliseconds; default 10 seconds. */
  readonly commandMs?: number | undefined
}

/**
 * Opens the connection for commands.
 *
 * @throws if the URL is not a Redis URL
 */
export function openRedis({
  url,
  prefix,
  onError,
  commandMs = COMMAND_MS,
}: RedisServerOptions): RedisServer {
  const open = (options: ConnectionSettings): Redis | Cluster => {
    const client = connectionOf(url, options)
    client.on('error', onError)
    return client
  }
  const commands = open({ enableAutoPipelining: true, ...settingsOf('add', commandMs) })
  return {
    commands,
    prefix,
    connect: (role) => open(settingsOf(role, commandMs)),
    isSharded: commands.isCluster,
    commandMs,
    [Symbol.asyncDispose]: () => closeRedis(commands),
  }
}

/** Closes a connection after its last reply, or at once if the server is down. */
export async function closeRedis(client: Redis | Cluster): Promise<void> {
  if (client.status !== 'ready') return client.disconnect()
  await withTimeOut(CLOSE_MS, client.quit()).catch(() => client.disconnect())
}

/** Milliseconds that an unresponsive server can delay the end of a process. */
export const CLOSE_MS = 1_000

/**
 * Time-out of a command in milliseconds. Without it, a network that drops packets would block a
 * command for a quarter of an hour.
 */
const COMMAND_MS = 10_000

/** Seconds for which a command that fetches may block in the server until there is a job. */
export const POLL_SECONDS = 2

/**
 * Commands that fetch and listen wait for a server that is down. One that fetches does not fail,
 * since the server may have given it a job: it is sent again over another connection. A connection
 * that listens may wait for messages without a limit.
 */
function settingsOf(role: ConnectionRole, commandMs: number): ConnectionSettings {
  switch (role) {
    case 'add':
      return { maxRetriesPerRequest: 3, commandTimeout: commandMs, socketTimeout: commandMs }
    case 'fetch':
      // BullMQ refuses to fetch over a connection with a limit of retries.
      return { maxRetriesPerRequest: null, socketTimeout: POLL_SECONDS * 1_000 + commandMs }
    case 'listen':
      return { maxRetriesPerRequest: null }
  }
}

/** Minimum milliseconds between two connections that are opened since the server is a replica. */
const LEAVE_EVERY_MS = 1_000

/**
 * Makes the check whether an error shows that the server of a connection has become a replica: the
 * connection is then opened again, since the address may lead to the new primary by now. A server
 * that is demoted need not close its connections. In a cluster such a node names the new one.
 */
function createReplicaCheck(): (error: Error) => boolean {
  let leftAtMs = Number.NEGATIVE_INFINITY
  return ({ message }) => {
    const nowMs = performance.now()
    if (!message.startsWith('READONLY ') || nowMs - leftAtMs < LEAVE_EVERY_MS) return false
    leftAtMs = nowMs
    return true
  }
}

interface ConnectionSettings {
  readonly maxRetriesPerRequest: number | null
  readonly enableAutoPipelining?: boolean
  /** Milliseconds after which a command fails. */
  readonly commandTimeout?: number
  /** Milliseconds without a reply after which the connection is reopened. */
  readonly socketTimeout?: number
}

function connectionOf(url: string, options: ConnectionSettings): Redis | Cluster {
  const address = readRedisUrl(url)
  if (address.kind === 'server') {
    const reconnectOnError = createReplicaCheck()
    return new Redis(url, { ...options, reconnectOnError, connectionName: 'plumbline' })
  }
  const { nodes, username, password, isTls } = address
  return new Cluster([...nodes], {
    enableAutoPipelining: options.enableAutoPipelining ?? false,
    shardedSubscribers: true,
    // A certificate is compared with the name; the driver would connect to its address.
    ...(isTls ? { dnsLookup: (name, callback) => callback(null, name) } : {}),
    redisOptions: {
      maxRetriesPerRequest: options.maxRetriesPerRequest ?? null,
      ...(options.commandTimeout === undefined ? {} : { commandTimeout: options.commandTimeout }),
      ...(options.socketTimeout === undefined ? {} : { socketTimeout: options.socketTimeout }),
      ...(username === '' ? {} : { username }),
      ...(password === '' ? {} : { password }),
      ...(isTls ? { tls: {} } : {}),
    },
  })
}
