import { connect, createServer, type Socket } from 'node:net'
import type { ConnectionFault, InjectedFault } from './connection-fault.ts'
import type { ServerSession, ServerSessions } from './server-sessions.ts'
import {
  COMMIT,
  COMMITTED,
  idleLimitOf,
  LISTENS,
  NO_TRANSACTION,
  READY,
  replaced,
  ROLLBACK,
  ROLLED_BACK,
  ROUND,
  SAVE,
  TERMINATE,
  WAITS,
} from './server-messages.ts'
import { waitRealTime, type Owner, type VirtualTime } from './virtual-time.ts'

/** A proxy between one process and one server, which can inject faults of the network. */
export interface FaultProxy extends AsyncDisposable {
  readonly url: string
  /** Breaks all connections; new ones can be opened. */
  cut(): void
  /** Breaks all connections, and rejects new ones. */
  close(): void
  /**
   * Plans a fault, to be injected after this many more requests, if they are sent within a minute.
   *
   * @param forMs virtual milliseconds that a standstill lasts
   */
  arm(fault: ConnectionFault, afterRequests: number, forMs?: number): void
  /** Cancels faults that have not been injected yet: those of a kind, or all. */
  disarm(fault?: ConnectionFault): void
  /** Local ports of the connections to the server that are not silent, as in `pg_stat_activity`. */
  ports(): readonly number[]
  /** Sessions of Postgres that hear nothing from their process, and may have a transaction open. */
  unheard(): readonly UnheardSession[]
  /** Whether the connection of a client, given by its local port, is silent. */
  isSilent(clientPort: number | undefined): boolean
  /** Forwarded requests without a reply. */
  inFlight(): readonly RequestInFlight[]
}

/** A forwarded request without a reply: local port of its connection, and real start time. */
export interface RequestInFlight {
  readonly port: number | undefined
  readonly sinceMs: number
}

/** A session: local port of its connection, and how long its transaction may be idle. */
export interface UnheardSession {
  readonly port: number
  readonly idleLimitMs: number
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
  /** New connections to Postgres wait for this promise. */
  readonly gate: { open: Promise<void> }
  /** Called when a fault is injected. */
  readonly onFault: (injected: InjectedFault) => void
}

interface ProxiedConnection {
  readonly client: Socket
  readonly server: Socket
  /** The server's session; undefined for Redis. */
  readonly session: ServerSession | undefined
  /** Set while nothing passes. */
  silence: Silence | undefined
  /** Whether the client waits for messages on it. */
  isListening: boolean
  /** How long the server lets the open transaction be idle, if it has a limit of its own. */
  roundIdleMs: number | undefined
  /** Whether the server's last piece ended a reply, and no transaction is open; only for Postgres. */
  isIdle: boolean
  busySince: number | null
  isLosing: boolean
  /** Whether the open transaction saves partial outcomes of a task. */
  isSaving: boolean
  /** Whether a commit was replaced by a rollback, whose reply must be turned into an acknowledgement. */
  isAcknowledging: boolean
}

/** A connection's silence, and what is to happen at its end, in order. */
interface Silence {
  /** Whether requests are held back: false until the one that it begins after has been forwarded. */
  isTotal: boolean
  readonly held: (() => void)[]
}

interface Armed extends InjectedFault {
  /** Virtual time at which it is dropped. */
  readonly untilMs: number
  left: number
}

/**
 * Virtual milliseconds that a fault waits for its request. If all faults of a process waited for the
 * last task, it would lose its outcomes so often that it is given up.
 */
const ARMED_MS = 60_000

/** Faults that wait for a save or a round. */
const OF_SOME: readonly ConnectionFault[] = ['lose_acknowledgement', 'suspend_round']

/** Opens a proxy on loopback in front of a server, for one process. */
export async function openFaultProxy(options: FaultProxyOptions): Promise<FaultProxy> {
  const { target, owner, kind, sessions } = options
  const upstream = new URL(target)
  const connections = new Set<ProxiedConnection>()
  /** Connections that their client closed while they were silent: the server does not know it. */
  const abandoned = new Set<ProxiedConnection>()
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
    await options.gate.open
    if (isClosed || owner.isDead || client.destroyed) return
    const session = from.open(startup)
    const connection = join(client, session.socket, session)
    if (session.greeting.length === 0) return await send(connection, startup)
    connection.isIdle = true
    if (passOn(connection, startup) === undefined) return
    if (connection.isLosing) return drop(connection)
    if (isFrozen(options)) await delayedWhileSuspended(client, options)
    const greet = (): void => void client.write(session.greeting)
    if (connection.silence === undefined) greet()
    else connection.silence.held.push(greet)
  }

  /** Forwards between a client and the server until one of them closes its connection. */
  function join(client: Socket, behind: Socket, session?: ServerSession): ProxiedConnection {
    const connection: ProxiedConnection = {
      client,
      server: behind,
      session,
      silence: undefined,
      isListening: false,
      roundIdleMs: undefined,
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
    }
    client.on('close', () => drop(connection))
    behind.on('close', () => void end(connection))
    client.on('data', (piece) => void send(connection, piece))
    behind.on('data', (piece) => void receive(connection, piece))
    return connection
  }

  async function send(connection: ProxiedConnection, piece: Buffer): Promise<void> {
    if (isFrozen(options)) await delayedWhileSuspended(connection.client, options)
    if (!connections.has(connection)) return
    if (connection.silence !== undefined) {
      connection.silence.held.push(() => void send(connection, piece))
      return
    }
    if (sessions !== undefined && piece.equals(TERMINATE)) return drop(connection)
    const passed = passOn(connection, piece)
    if (passed !== undefined) forward(connection, passed)
  }

  function forward(connection: ProxiedConnection, piece: Buffer): void {
    if (connection.silence?.isTotal === true) {
      connection.silence.held.push(() => forward(connection, piece))
      return
    }
    connection.isIdle = false
    if (kind === 'postgres' || !WAITS.test(piece.toString('latin1')))
      connection.busySince ??= Date.now()
    connection.server.write(piece)
    if (connection.silence !== undefined) connection.silence.isTotal = true
  }

  /** The bytes to forward for a piece of a request; undefined if the request is lost. */
  function passOn(connection: ProxiedConnection, piece: Buffer): Buffer | undefined {
    const isCommit = piece.includes(COMMIT)
    const isSaved = isCommit && connection.isSaving
    connection.isSaving =
      !isCommit && !piece.includes(ROLLBACK) && (connection.isSaving || piece.includes(SAVE))
    if (LISTENS.test(piece.toString('latin1'))) connection.isListening = true
    const [, idleMs] = sessions === undefined ? [] : (ROUND.exec(piece.toString('latin1')) ?? [])
    if (idleMs !== undefined) connection.roundIdleMs = Number(idleMs)
    const present = armed.filter(({ untilMs }) => untilMs > options.time.nowMs())
    const isOfThis = ({ fault }: Armed): boolean =>
      fault === 'lose_acknowledgement' ? isSaved : connection.roundIdleMs !== undefined
    // Faults of saves and rounds wait for one, while other faults are injected.
    const next =
      present.find((one) => OF_SOME.includes(one.fault) && isOfThis(one)) ??
      present.find((one) => !OF_SOME.includes(one.fault))
    if (next === undefined) return piece
    next.left -= 1
    if (next.left > 0 || (next.fault === 'lose_commit' && !isCommit)) return piece
    armed.splice(armed.indexOf(next), 1)
    // Before the other connections are broken: this one outlasts that until its acknowledgement.
    if (next.fault === 'lose_commit') connection.isAcknowledging = true
    options.onFault(next)
    switch (next.fault) {
      case 'lose_commit':
        return replaced(piece, COMMIT, ROLLBACK)
      case 'lose_reply':
      case 'lose_acknowledgement':
        connection.isLosing = true
        return piece
      case 'silence_request':
      case 'silence_reply':
      case 'silence_listener':
        silence(connection, next)
        return piece
      case 'suspend':
      case 'suspend_round':
        owner.frozenUntilMs = options.time.nowMs() + next.forMs
        return piece
      case 'lose_request':
      case 'promote':
        drop(connection)
        return undefined
    }
  }

  /** Lets nothing pass for some time, or for ever; then what was held back arrives, in order. */
  function silence(connection: ProxiedConnection, { fault, forMs }: InjectedFault): void {
    const begun: Silence = { isTotal: fault !== 'silence_reply', held: [] }
    connection.silence = begun
    connection.busySince = null
    if (forMs === Infinity) return
    void options.time.wait(forMs).then(() => {
      connection.silence = undefined
      if (!connections.has(connection)) return
      if (sessions !== undefined && !connection.isIdle) connection.busySince = Date.now()
      for (const happen of begun.held) happen()
    })
  }

  async function receive(connection: ProxiedConnection, piece: Buffer): Promise<void> {
    const hasEnded = kind === 'redis' || piece.subarray(-6, -1).equals(READY)
    connection.isIdle = hasEnded && piece.at(-1) === NO_TRANSACTION
    if (connection.isIdle) connection.roundIdleMs = undefined
    if (abandoned.has(connection)) return release(connection)
    await reply(connection, piece, hasEnded)
  }

  async function reply(
    connection: ProxiedConnection,
    piece: Buffer,
    hasEnded: boolean,
  ): Promise<void> {
    if (connection.silence !== undefined) {
      connection.silence.held.push(() => void reply(connection, piece, hasEnded))
      return
    }
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

  /** Tells the client that the server has closed its connection, as soon as it can hear it. */
  async function end(connection: ProxiedConnection): Promise<void> {
    abandoned.delete(connection)
    if (connection.silence !== undefined) {
      connection.silence.held.push(() => void end(connection))
      return
    }
    await afterSuspension(options)
    drop(connection)
  }

  function drop(connection: ProxiedConnection): void {
    if (!connections.delete(connection)) return
    void afterSuspension(options).then(() => connection.client.destroy())
    if (connection.silence === undefined) return leave(connection)
    abandoned.add(connection)
    release(connection)
  }

  /** Ends the server's side of an abandoned connection, unless the server still has something to do. */
  function release(connection: ProxiedConnection): void {
    if (kind === 'postgres' && !connection.isIdle) return
    abandoned.delete(connection)
    leave(connection)
  }

  function leave({ server: behind, session, isIdle }: ProxiedConnection): void {
    if (session !== undefined && isIdle && !behind.destroyed) session.giveBack()
    else behind.destroy()
  }

  const silentOnes = (): readonly ProxiedConnection[] =>
    [...connections].filter((connection) => connection.silence !== undefined)

  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port')
  const url = new URL(target)
  url.port = String(address.port)
  const cut = (): void => {
    for (const connection of connections) {
      if (!isClosed && connection.isAcknowledging) continue
      // The process does not hear that the server has closed a silent connection.
      if (!isClosed && connection.silence !== undefined) connection.server.destroy()
      else drop(connection)
    }
    if (!isClosed) for (const { server: behind } of abandoned) behind.destroy()
  }
  return {
    url: url.href,
    cut,
    close: () => {
      isClosed = true
      cut()
    },
    arm: (fault, left, forMs = 0) => {
      if (fault === 'silence_listener') {
        const listener = [...connections].find(({ isListening }) => isListening)
        if (listener === undefined || listener.silence !== undefined) return
        options.onFault({ fault, forMs })
        return silence(listener, { fault, forMs })
      }
      armed.push({ fault, left, forMs, untilMs: options.time.nowMs() + ARMED_MS })
    },
    disarm: (fault) => {
      const kept = armed.filter((one) => fault !== undefined && one.fault !== fault)
      armed.splice(0, armed.length, ...kept)
    },
    ports: () =>
      [...connections].flatMap(({ silence: of, server: { localPort } }) =>
        of === undefined && localPort !== undefined ? [localPort] : [],
      ),
    unheard: () =>
      [...(isFrozen(options) ? connections : []), ...abandoned, ...silentOnes()].flatMap(
        ({ isIdle, roundIdleMs, session, server: { localPort } }) =>
          isIdle || session === undefined || localPort === undefined
            ? []
            : [{ port: localPort, idleLimitMs: roundIdleMs ?? idleLimitOf(session.startup) }],
      ),
    isSilent: (port) =>
      port !== undefined && silentOnes().some(({ client }) => client.remotePort === port),
    inFlight: () =>
      [...connections].flatMap(({ silence: of, busySince, server: { localPort } }) =>
        busySince === null || of !== undefined ? [] : [{ port: localPort, sinceMs: busySince }],
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
  await afterSuspension(options)
  socket.resume()
}

async function afterSuspension(options: FaultProxyOptions): Promise<void> {
  while (isFrozen(options)) await waitRealTime(1)
}
