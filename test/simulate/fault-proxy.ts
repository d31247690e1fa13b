import { connect, createServer, type Socket } from 'node:net'
import type { ServerSession, ServerSessions } from './server-sessions.ts'
import { waitRealTime, type Owner, type VirtualTime } from './virtual-time.ts'

/** A fault of a connection to Postgres, at one statement. */
export type ConnectionFault =
  /** The statement is lost. */
  | 'lose_request'
  /** The statement takes effect, but its reply is lost. */
  | 'lose_reply'
  /** The next commit is acknowledged by a server that fails without having replicated it. */
  | 'lose_commit'
  /** The next commit that saves partial outcomes of a task takes effect, but its acknowledgement is lost. */
  | 'lose_acknowledgement'

/** A proxy between one process and one server, which can inject faults of the network. */
export interface FaultProxy extends AsyncDisposable {
  readonly url: string
  /** Breaks all connections; new ones can be opened. */
  cut(): void
  /** Breaks all connections, and rejects new ones. */
  close(): void
  /** Plans a fault, to be injected after this many more requests, if they are sent within a minute. */
  arm(fault: ConnectionFault, afterRequests: number): void
  /** Cancels faults that have not been injected yet. */
  disarm(): void
  /** Local ports of the connections to the server, as in `pg_stat_activity`. */
  ports(): readonly number[]
  /** Forwarded requests without a reply. */
  inFlight(): readonly RequestInFlight[]
}

/** A forwarded request without a reply: local port of its connection, and real start time. */
export interface RequestInFlight {
  readonly port: number | undefined
  readonly sinceMs: number
}

/** Options of a proxy. */
export interface FaultProxyOptions {
  readonly kind: 'postgres' | 'redis'
  /** URL of the server. */
  readonly target: string
  /** Sessions that connections to Postgres use in turn; absent for Redis. */
  readonly sessions?: ServerSessions
  readonly time: VirtualTime
  readonly owner: Owner
  /** Whether connections outlast `lose_commit`, as behind a pooler. */
  readonly isPooled: boolean
  /** Called when a fault is injected. */
  readonly onFault: (fault: ConnectionFault) => void
}

interface ProxiedConnection {
  readonly client: Socket
  readonly server: Socket
  /** The server's session; undefined for Redis. */
  readonly session: ServerSession | undefined
  /** Whether the server's last piece ended a reply, and no transaction is open; only for Postgres. */
  isIdle: boolean
  busySince: number | null
  isLosing: boolean
  /** Whether the open transaction saves partial outcomes of a task. */
  isSaving: boolean
  /** Whether a commit was replaced by a rollback, whose reply must be turned into an acknowledgement. */
  isAcknowledging: boolean
}

interface Armed {
  readonly fault: ConnectionFault
  /** Virtual time at which it is dropped. */
  readonly untilMs: number
  left: number
}

/**
 * Virtual milliseconds that a fault waits for its request. If all faults of a process waited for the
 * last task, it would lose its outcomes so often that it is given up.
 */
const ARMED_MS = 60_000

/** Messages `Query` and `CommandComplete` of Postgres's protocol. Source: PostgreSQL manual, chapter 54.7. */
const COMMIT = textMessage('Q', 'commit')
const ROLLBACK = textMessage('Q', 'rollback')
const COMMITTED = textMessage('C', 'COMMIT')
const ROLLED_BACK = textMessage('C', 'ROLLBACK')

/** Part of the message that binds the statement which saves partial outcomes of a task. */
const SAVE = Buffer.from('\0outcomes.store\0')

/** Blocking commands of Redis, which reply only when there is a job. */
const WAITS = /bzpopmin/i

/** ReadyForQuery: its last byte tells whether a transaction is open. */
const READY = Buffer.from([0x5a, 0, 0, 0, 5])
const NO_TRANSACTION = 0x49

/** Terminate: the client will close the connection. */
const TERMINATE = Buffer.from([0x58, 0, 0, 0, 4])

/** Opens a proxy on loopback in front of a server, for one process. */
export async function openFaultProxy(options: FaultProxyOptions): Promise<FaultProxy> {
  const { target, owner, kind, sessions } = options
  const upstream = new URL(target)
  const connections = new Set<ProxiedConnection>()
  const armed: Armed[] = []
  let isClosed = false
  const server = createServer((client) => {
    // Not closed: the remaining code of a dead process would reconnect again and again.
    if (isClosed || owner.isDead) return void client.on('error', () => undefined)
    if (sessions === undefined) {
      join(client, connect(Number(upstream.port), upstream.hostname))
      return
    }
    client.on('error', () => undefined)
    client.once('data', (startup: Buffer) => void begin(client, startup, sessions))
  })

  /** Begins a connection to Postgres; like a request, its first message can be delayed or lost. */
  async function begin(client: Socket, startup: Buffer, from: ServerSessions): Promise<void> {
    if (isFrozen(options)) await delayedWhileSuspended(client, options)
    if (isClosed || owner.isDead || client.destroyed) return
    const session = from.open(startup)
    const connection = join(client, session.socket, session)
    if (session.greeting.length === 0) return await send(connection, startup)
    connection.isIdle = true
    if (passOn(connection, startup) === undefined) return
    if (connection.isLosing) drop(connection)
    else client.write(session.greeting)
  }

  /** Forwards between a client and the server until one of them closes its connection. */
  function join(client: Socket, behind: Socket, session?: ServerSession): ProxiedConnection {
    const connection: ProxiedConnection = {
      client,
      server: behind,
      session,
      isIdle: false,
      busySince: null,
      isLosing: false,
      isSaving: false,
      isAcknowledging: false,
    }
    connections.add(connection)
    for (const socket of [client, behind]) {
      socket.setNoDelay(true)
      socket.on('error', () => undefined)
      socket.on('close', () => drop(connection))
    }
    client.on('data', (piece) => void send(connection, piece))
    behind.on('data', (piece) => void receive(connection, piece))
    return connection
  }

  async function send(connection: ProxiedConnection, piece: Buffer): Promise<void> {
    if (isFrozen(options)) await delayedWhileSuspended(connection.client, options)
    if (!connections.has(connection)) return
    if (sessions !== undefined && piece.equals(TERMINATE)) return drop(connection)
    connection.isIdle = false
    if (kind === 'postgres' || !WAITS.test(piece.toString('latin1')))
      connection.busySince ??= Date.now()
    const passed = passOn(connection, piece)
    if (passed !== undefined) connection.server.write(passed)
  }

  /** The bytes to forward for a piece of a request; undefined if the request is lost. */
  function passOn(connection: ProxiedConnection, piece: Buffer): Buffer | undefined {
    const isCommit = piece.includes(COMMIT)
    const isSaved = isCommit && connection.isSaving
    connection.isSaving =
      !isCommit && !piece.includes(ROLLBACK) && (connection.isSaving || piece.includes(SAVE))
    // Faults of saves wait for a save, while other faults are injected.
    const isOfSave = ({ fault }: Armed): boolean => fault === 'lose_acknowledgement'
    const present = armed.filter(({ untilMs }) => untilMs > options.time.nowMs())
    const next =
      (isSaved ? present.find(isOfSave) : undefined) ?? present.find((one) => !isOfSave(one))
    if (next === undefined) return piece
    next.left -= 1
    if (next.left > 0 || (next.fault === 'lose_commit' && !isCommit)) return piece
    armed.splice(armed.indexOf(next), 1)
    // Before the other connections are broken: this one outlasts that until its acknowledgement.
    if (next.fault === 'lose_commit') connection.isAcknowledging = true
    options.onFault(next.fault)
    switch (next.fault) {
      case 'lose_commit':
        return replaced(piece, COMMIT, ROLLBACK)
      case 'lose_reply':
      case 'lose_acknowledgement':
        connection.isLosing = true
        return piece
      case 'lose_request':
        drop(connection)
        return undefined
    }
  }

  async function receive(connection: ProxiedConnection, piece: Buffer): Promise<void> {
    const hasEnded = kind === 'redis' || piece.subarray(-6, -1).equals(READY)
    connection.isIdle = hasEnded && piece.at(-1) === NO_TRANSACTION
    if (connection.isLosing && hasEnded) return drop(connection)
    if (isFrozen(options)) await delayedWhileSuspended(connection.server, options)
    if (!connections.has(connection)) return
    if (connection.isAcknowledging && hasEnded) {
      connection.client.write(replaced(piece, ROLLED_BACK, COMMITTED), () => {
        if (!options.isPooled) drop(connection)
      })
      connection.isAcknowledging = !options.isPooled
    } else if (!connection.isLosing) connection.client.write(piece)
    if (hasEnded) connection.busySince = null
  }

  function drop(connection: ProxiedConnection): void {
    if (!connections.delete(connection)) return
    const { client, server: behind, session } = connection
    client.destroy()
    if (session !== undefined && connection.isIdle && !behind.destroyed) session.giveBack()
    else behind.destroy()
  }

  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port')
  const url = new URL(target)
  url.port = String(address.port)
  const cut = (): void => {
    for (const connection of connections)
      if (isClosed || !connection.isAcknowledging) drop(connection)
  }
  return {
    url: url.href,
    cut,
    close: () => {
      isClosed = true
      cut()
    },
    arm: (fault, left) => {
      armed.push({ fault, left, untilMs: options.time.nowMs() + ARMED_MS })
    },
    disarm: () => void armed.splice(0),
    ports: () => [...connections].flatMap(({ server: { localPort } }) => localPort ?? []),
    inFlight: () =>
      [...connections].flatMap(({ busySince, server: { localPort } }) =>
        busySince === null ? [] : [{ port: localPort, sinceMs: busySince }],
      ),
    [Symbol.asyncDispose]: async () => {
      cut()
      await new Promise((closed) => server.close(closed))
    },
  }
}

function isFrozen({ owner, time }: FaultProxyOptions): boolean {
  return !owner.isDead && owner.frozenUntilMs > time.nowMs()
}

/** Delays all data from and to a suspended process, in order. */
async function delayedWhileSuspended(socket: Socket, options: FaultProxyOptions): Promise<void> {
  socket.pause()
  while (isFrozen(options)) await waitRealTime(1)
  socket.resume()
}

function textMessage(kind: string, text: string): Buffer {
  const message = Buffer.alloc(text.length + 6)
  message.write(kind, 0)
  message.writeInt32BE(text.length + 5, 1)
  message.write(text, 5)
  return message
}

function replaced(piece: Buffer, what: Buffer, by: Buffer): Buffer {
  const at = piece.indexOf(what)
  return Buffer.concat([piece.subarray(0, at), by, piece.subarray(at + what.length)])
}
