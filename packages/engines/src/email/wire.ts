import type { Socket } from 'node:net'
import { createReplyReader } from './reply.ts'
import type { Reply, ReplyReader } from './reply.ts'

/** Why a connection gave no further reply. */
export type WireFault = 'timeout' | 'closed' | 'malformed' | 'too_long' | 'unsolicited' | 'aborted'

/** What came back: the replies that came whole, in order, and the fault that kept the rest. */
export interface Exchanged {
  readonly replies: readonly Reply[]
  readonly fault: WireFault | null
}

/** A connection on which commands go out and replies come in. */
export interface Wire {
  /**
   * Sends bytes (none to wait for the greeting) and waits for `count` replies. Each reply has
   * `replyTimeoutMs`, all end with the wire's deadline. Never throws; one exchange at a time.
   */
  exchange(payload: string, count: number, replyTimeoutMs: number): Promise<Exchanged>
  /** Sends bytes and waits for nothing. */
  send(payload: string): void
  /** The fault that ended the wire; null while it is good. */
  readonly fault: WireFault | null
  /** Gives the bare socket back, for TLS; null where bytes came that nobody asked for. */
  release(): Socket | null
  /** Closes at once. */
  destroy(): void
}

/** Takes an open socket. `endMs` bounds the life of the wire, whatever the peer sends. */
export function createWire(socket: Socket, endMs: number, signal: AbortSignal): Wire {
  const reader: ReplyReader = createReplyReader()
  let fault: WireFault | null = null
  let wanted = 0
  let got: Reply[] = []
  let settle: ((exchanged: Exchanged) => void) | null = null
  let timer: NodeJS.Timeout | null = null
  const bornMs = performance.now()

  const finish = (): void => {
    if (timer !== null) clearTimeout(timer)
    timer = null
    const resolve = settle
    settle = null
    // With a reply too many, none of them can be trusted to answer what was asked.
    if (fault === 'unsolicited') resolve?.({ replies: [], fault })
    else resolve?.({ replies: got, fault: got.length >= wanted ? null : fault })
  }
  const fail = (why: WireFault): void => {
    fault ??= why
    socket.destroy()
    if (settle !== null) finish()
  }
  const arm = (replyTimeoutMs: number): void => {
    if (timer !== null) clearTimeout(timer)
    const leftMs = endMs - (performance.now() - bornMs)
    timer = setTimeout(() => fail('timeout'), Math.max(0, Math.min(replyTimeoutMs, leftMs)))
  }
  let lastTimeoutMs = 0
  const onData = (chunk: Buffer): void => {
    const read = reader.push(chunk)
    for (const reply of read.replies) {
      if (settle === null || got.length >= wanted) {
        // A reply too many: from here on nobody could tell which reply answers what.
        fault ??= reply.code === 421 ? 'closed' : 'unsolicited'
        break
      }
      got.push(reply)
    }
    if (read.fault !== null) fault ??= read.fault
    if (fault !== null) {
      fail(fault)
      return
    }
    if (settle === null) return
    if (got.length >= wanted) finish()
    else if (read.replies.length > 0) arm(lastTimeoutMs)
  }
  const onClose = (): void => fail('closed')
  const onAbort = (): void => fail('aborted')
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
    exchange(payload, count, replyTimeoutMs) {
      if (fault !== null) return Promise.resolve({ replies: [], fault })
      wanted = count
      got = []
      lastTimeoutMs = replyTimeoutMs
      return new Promise((resolve) => {
        settle = resolve
        arm(replyTimeoutMs)
        if (payload !== '') socket.write(payload, encodingOf(payload))
      })
    },
    send(payload) {
      if (fault === null) socket.write(payload, 'latin1')
    },
    get fault() {
      return fault
    },
    release() {
      detach()
      return fault === null && reader.pendingBytes === 0 ? socket : null
    },
    destroy() {
      detach()
      fault ??= 'closed'
      if (settle !== null) finish()
      socket.destroy()
    },
  }
}

/** One octet a character is much cheaper to write, and most commands are ASCII. */
function encodingOf(payload: string): 'latin1' | 'utf8' {
  for (let at = 0; at < payload.length; at++) if (payload.charCodeAt(at) > 0x7f) return 'utf8'
  return 'latin1'
}
