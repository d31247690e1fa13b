import { connect, createServer, type Socket } from 'node:net'
import { waitReally, type Owner, type VirtualTime } from './virtual-time.ts'

/** Fault of a connection at a statement. */
export type WireFault =
  /** The statement is lost. */
  | 'lose_request'
  /** The statement takes effect, but its reply is lost. */
  | 'lose_reply'
  /** The next commit is acknowledged by a server that fails without having replicated it. */
  | 'lose_commit'
  /** The next save in the midst of a task is committed, but the acknowledgement of that is lost. */
  | 'lose_acknowledgement'

/** The network between one process and one server. */
export interface Wire extends AsyncDisposable {
  readonly url: string
  /** Breaks all connections; new ones can be opened. */
  cut(): void
  /** Breaks all connections for good. */
  close(): void
  /** Injects a fault after this many more requests. */
  arm(fault: WireFault, afterRequests: number): void
  /** Cancels faults that have not happened yet. */
  disarm(): void
  /** The ports by which the server knows the connections. */
  ports(): readonly number[]
  /** Requests in flight: the port by which the server knows each, and its real start time. */
  underWay(): readonly UnderWay[]
}

/** A forwarded request without a reply. */
export interface UnderWay {
  readonly port: number | undefined
  readonly sinceMs: number
}

/** Options of a wire. */
export interface WireOptions {
  readonly kind: 'postgres' | 'redis'
  /** URL of the server itself. */
  readonly target: string
  readonly time: VirtualTime
  readonly owner: Owner
  /** Called when a fault has happened. */
  readonly onFault: (fault: WireFault) => void
}

interface Lane {
  readonly client: Socket
  readonly server: Socket
  busySince: number | null
  isLosing: boolean
  /** Whether the open transaction saves outcomes in the midst of a task. */
  isSaving: boolean
  /** Whether a commit that is to be lost is in flight: its acknowledgement is still passed on. */
  isAcknowledging: boolean
}

interface Armed {
  readonly fault: WireFault
  left: number
}

/**
 * Complete messages: `Query`, and `CommandComplete` in reply. Source: PostgreSQL manual, chapter
 * 54.7.
 */
const COMMIT = textMessage('Q', 'commit')
const ROLLBACK = textMessage('Q', 'rollback')
const COMMITTED = textMessage('C', 'COMMIT')
const ROLLED_BACK = textMessage('C', 'ROLLBACK')

/** Binds the statement by which outcomes are saved in the midst of a task. */
const SAVE = Buffer.from('\0outcomes.store\0')

/** Blocking commands, whose reply may take long. */
const WAITS = /bzpopmin/i

/** ReadyForQuery: its last byte tells whether a transaction is open. */
const READY = Buffer.from([0x5a, 0, 0, 0, 5])

/** Opens a proxy on loopback in front of a server, for one process. */
export async function openWire(options: WireOptions): Promise<Wire> {
  const { target, owner, kind } = options
  const upstream = new URL(target)
  const lanes = new Set<Lane>()
  const armed: Armed[] = []
  let isClosed = false
  const server = createServer((client) => {
    // What is left of a dead process is told nothing, or it would try again and again.
    if (isClosed || owner.isDead) return void client.on('error', () => undefined)
    const behind = connect(Number(upstream.port), upstream.hostname)
    const lane: Lane = {
      client,
      server: behind,
      busySince: null,
      isLosing: false,
      isSaving: false,
      isAcknowledging: false,
    }
    lanes.add(lane)
    for (const socket of [client, behind]) {
      socket.setNoDelay(true)
      socket.on('error', () => undefined)
      socket.on('close', () => drop(lanes, lane))
    }
    client.on('data', (piece) => void send(lane, piece))
    behind.on('data', (piece) => void receive(lane, piece))
  })

  async function send(lane: Lane, piece: Buffer): Promise<void> {
    if (isFrozen(options)) await heldBack(lane.client, options)
    if (kind === 'postgres' || !WAITS.test(piece.toString('latin1'))) lane.busySince ??= Date.now()
    const passed = passOn(lane, piece)
    if (passed !== undefined) lane.server.write(passed)
  }

  /** The part of a request to forward; undefined if it is lost. */
  function passOn(lane: Lane, piece: Buffer): Buffer | undefined {
    const isCommit = piece.includes(COMMIT)
    const isSaved = isCommit && lane.isSaving
    lane.isSaving =
      !isCommit && !piece.includes(ROLLBACK) && (lane.isSaving || piece.includes(SAVE))
    // Those of saves wait for one, while other faults happen.
    const isOfSave = ({ fault }: Armed): boolean => fault === 'lose_acknowledgement'
    const next = (isSaved ? armed.find(isOfSave) : undefined) ?? armed.find((one) => !isOfSave(one))
    if (next === undefined) return piece
    next.left -= 1
    if (next.left > 0 || (next.fault === 'lose_commit' && !isCommit)) return piece
    armed.splice(armed.indexOf(next), 1)
    options.onFault(next.fault)
    switch (next.fault) {
      case 'lose_commit':
        lane.isAcknowledging = true
        return replaced(piece, COMMIT, ROLLBACK)
      case 'lose_reply':
      case 'lose_acknowledgement':
        lane.isLosing = true
        return piece
      case 'lose_request':
        drop(lanes, lane)
        return undefined
    }
  }

  async function receive(lane: Lane, piece: Buffer): Promise<void> {
    const hasEnded = kind === 'redis' || piece.lastIndexOf(READY) === piece.length - 6
    if (lane.isLosing && hasEnded) return drop(lanes, lane)
    if (isFrozen(options)) await heldBack(lane.server, options)
    if (lane.isAcknowledging && hasEnded) {
      lane.client.write(replaced(piece, ROLLED_BACK, COMMITTED), () => drop(lanes, lane))
      return
    }
    if (!lane.isLosing) lane.client.write(piece)
    if (hasEnded) lane.busySince = null
  }

  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the wire has no port')
  const url = new URL(target)
  url.port = String(address.port)
  const cut = (): void => {
    for (const lane of lanes) if (isClosed || !lane.isAcknowledging) drop(lanes, lane)
  }
  return {
    url: url.href,
    cut,
    close: () => {
      isClosed = true
      cut()
    },
    arm: (fault, left) => void armed.push({ fault, left }),
    disarm: () => void armed.splice(0),
    ports: () => [...lanes].flatMap(({ server: { localPort } }) => localPort ?? []),
    underWay: () =>
      [...lanes].flatMap(({ busySince, server: { localPort } }) =>
        busySince === null ? [] : [{ port: localPort, sinceMs: busySince }],
      ),
    [Symbol.asyncDispose]: async () => {
      cut()
      await new Promise((closed) => server.close(closed))
    },
  }
}

function drop(lanes: Set<Lane>, lane: Lane): void {
  lanes.delete(lane)
  lane.client.destroy()
  lane.server.destroy()
}

function isFrozen({ owner, time }: WireOptions): boolean {
  return !owner.isDead && owner.frozenUntilMs > time.nowMs()
}

/** Delays all data from and to a suspended process, in order. */
async function heldBack(socket: Socket, options: WireOptions): Promise<void> {
  socket.pause()
  while (isFrozen(options)) await waitReally(1)
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
