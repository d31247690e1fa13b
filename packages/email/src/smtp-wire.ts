import type { Socket } from 'node:net'
import { createReplyReader } from './smtp-reply.ts'
import type { Reply, ReplyReader } from './smtp-reply.ts'

/** Why a connection gave no further reply. */
export type WireFault = 'timeout' | 'closed' | 'malformed' | 'too_long' | 'unsolicited' | 'aborted'

/** The complete replies, in order, and the fault that prevented the others. */
export interface Exchanged {
  readonly replies: readonly Reply[]
  readonly fault: WireFault | null
}

/** A connection that sends commands and receives replies. */
export interface SmtpWire {
  /**
   * Sends bytes (none to wait for the greeting) and waits for `count` replies. Each reply has a
   * time-out of `replyTimeoutMs`; all end at the deadline of the connection. Never throws; one
   * exchange at a time.
   */
  exchange(payload: string, count: number, replyTimeoutMs: number): Promise<Exchanged>
  /** Sends bytes without waiting for a reply. */
  send(payload: string): void
  /** The fault that ended the connection; null while it is usable. */
  readonly fault: WireFault | null
  /** Returns the socket, for TLS; null if unexpected bytes have arrived. */
  release(): Socket | null
  /** Closes at once. */
  destroy(): void
}

interface Open {
  readonly socket: Socket
  readonly reader: ReplyReader
  /** Deadline by the monotonic clock. */
  readonly endMs: number
  fault: WireFault | null
  /** State of the current exchange: expected replies, received ones, and its resolver. */
  wanted: number
  got: Reply[]
  settle: ((exchanged: Exchanged) => void) | null
  replyTimeoutMs: number
  timer: NodeJS.Timeout | null
}

/** Takes an open socket. `lifeMs` bounds its lifetime, whatever the peer sends. */
export function createSmtpWire(socket: Socket, lifeMs: number, signal: AbortSignal): SmtpWire {
  const wire: Open = {
    socket,
    reader: createReplyReader(),
    endMs: performance.now() + lifeMs,
    fault: null,
    wanted: 0,
    got: [],
    settle: null,
    replyTimeoutMs: 0,
    timer: null,
  }
  const onData = (chunk: Buffer): void => onBytes(wire, chunk)
  const onClose = (): void => fail(wire, 'closed')
  const onAbort = (): void => fail(wire, 'aborted')
  socket.on('data', onData)
  socket.on('close', onClose)
  socket.on('end', onClose)
  socket.on('error', onClose)
  signal.addEventListener('abort', onAbort, { once: true })
  if (signal.aborted) onAbort()
  const detach = (): void => {
    socket.off('data', onData)
    socket.off('close', onClose)
    socket.off('end', onClose)
    signal.removeEventListener('abort', onAbort)
  }
  return {
    exchange: (payload, count, replyTimeoutMs) => exchange(wire, payload, count, replyTimeoutMs),
    send(payload) {
      if (wire.fault === null) socket.write(payload, 'latin1')
    },
    get fault() {
      return wire.fault
    },
    release() {
      detach()
      return wire.fault === null && !wire.reader.isPending ? socket : null
    },
    destroy() {
      detach()
      wire.fault ??= 'closed'
      if (wire.settle !== null) finish(wire)
      socket.destroy()
    },
  }
}

function exchange(
  wire: Open,
  payload: string,
  count: number,
  replyTimeoutMs: number,
): Promise<Exchanged> {
  if (wire.fault !== null) return Promise.resolve({ replies: [], fault: wire.fault })
  wire.wanted = count
  wire.got = []
  wire.replyTimeoutMs = replyTimeoutMs
  return new Promise((resolve) => {
    wire.settle = resolve
    arm(wire)
    if (payload !== '') wire.socket.write(payload, encodingOf(payload))
  })
}

function onBytes(wire: Open, chunk: Buffer): void {
  const read = wire.reader.push(chunk)
  for (const reply of read.replies) {
    if (wire.settle === null || wire.got.length >= wire.wanted) {
      // An unexpected reply: from here on replies could not be matched to commands.
      wire.fault ??= reply.code === 421 ? 'closed' : 'unsolicited'
      break
    }
    wire.got.push(reply)
  }
  if (read.fault !== null) wire.fault ??= read.fault
  if (wire.fault !== null) {
    fail(wire, wire.fault)
    return
  }
  if (wire.settle === null) return
  if (wire.got.length >= wire.wanted) finish(wire)
  else if (read.replies.length > 0) arm(wire)
}

/** Restarts the time-out with each complete reply; a partial one does not extend it. */
function arm(wire: Open): void {
  if (wire.timer !== null) clearTimeout(wire.timer)
  const leftMs = wire.endMs - performance.now()
  const ms = Math.max(0, Math.min(wire.replyTimeoutMs, leftMs))
  wire.timer = setTimeout(() => fail(wire, 'timeout'), ms)
}

function fail(wire: Open, why: WireFault): void {
  wire.fault ??= why
  wire.socket.destroy()
  if (wire.settle !== null) finish(wire)
}

function finish(wire: Open): void {
  if (wire.timer !== null) clearTimeout(wire.timer)
  wire.timer = null
  const resolve = wire.settle
  wire.settle = null
  const { fault, got, wanted } = wire
  // After a surplus reply, none can be matched to its command.
  if (fault === 'unsolicited') resolve?.({ replies: [], fault })
  else resolve?.({ replies: got, fault: got.length >= wanted ? null : fault })
}

/** Latin-1 is much cheaper to write, and most commands are ASCII. */
function encodingOf(payload: string): 'latin1' | 'utf8' {
  for (let at = 0; at < payload.length; at++) if (payload.charCodeAt(at) > 0x7f) return 'utf8'
  return 'latin1'
}
