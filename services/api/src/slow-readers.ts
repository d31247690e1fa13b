import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { MIN_BYTES_PER_SECOND } from './body-stream.ts'

/** Ends connections whose clients read their responses too slowly. */
export interface SlowReaders extends Disposable {
  /** Watches a connection until it closes. */
  watch(socket: Socket): void
  /** Adds a response to those that its connection is to send, in order. */
  expect(res: ServerResponse): void
}

/** Definition of too slow, and the function that is notified. */
export interface SlowReadersOptions {
  /** The time over which the rate is measured, in milliseconds. */
  readonly timeoutMs: number
  /** Called with a connection before it is ended. */
  readonly onSlow: (socket: Socket) => void
}

/** Measurements of a connection within `timeoutMs`. */
const MEASUREMENTS = 6

/** From this many pending responses of one connection on, those that were sent are removed. */
const PRUNE_AT = 16

interface Watched {
  /** Responses that may not be sent yet, oldest first. */
  responses: ServerResponse[]
  /** Bytes that waited for the client at the last measurement; infinite if unknown. */
  waitingBytes: number
  takenBytes: number
  /**
   * The last measurements, latest last: bytes that the client had to read, and bytes that it read.
   */
  steps: { readonly dueBytes: number; readonly takenBytes: number }[]
}

/**
 * Ends each connection whose client, over `timeoutMs`, reads waiting responses more slowly than the
 * least rate of bodies. Idle connections, and those that wait for us, are not affected.
 */
export function endSlowReaders({ timeoutMs, onSlow }: SlowReadersOptions): SlowReaders {
  const connections = new Map<Socket, Watched>()
  const everyMs = timeoutMs / MEASUREMENTS
  const dueBytes = (MIN_BYTES_PER_SECOND * everyMs) / 1_000
  const timer = setInterval(() => {
    for (const [socket, watched] of connections) {
      if (!isTooSlow(socket, watched, dueBytes)) continue
      connections.delete(socket)
      onSlow(socket)
      // Else the kernel would keep its unsent data for as long as the client likes.
      socket.resetAndDestroy()
    }
  }, everyMs)
  timer.unref()
  return {
    watch: (socket) => {
      connections.set(socket, { responses: [], waitingBytes: 0, takenBytes: 0, steps: [] })
      socket.once('close', () => connections.delete(socket))
    },
    expect: (res) => {
      const watched = connections.get(res.req.socket)
      if (watched === undefined) return
      const { responses } = watched
      // Most clients send one request at a time.
      if (responses.at(-1)?.writableFinished === true) responses.length = 0
      else if (responses.length >= PRUNE_AT) watched.responses = responses.filter(isUnderWay)
      watched.responses.push(res)
    },
    [Symbol.dispose]: () => clearInterval(timer),
  }
}

function isTooSlow(socket: Socket, watched: Watched, dueBytes: number): boolean {
  const { waitingBytes, takenBytes, steps } = watched
  watched.waitingBytes = bytesWaiting(socket, watched.responses)
  // What was written, less what the kernel has not accepted.
  watched.takenBytes = socket.bytesWritten - socket.writableLength
  if (waitingBytes > 0) {
    const due = Math.min(waitingBytes, dueBytes)
    steps.push({ dueBytes: due, takenBytes: watched.takenBytes - takenBytes })
  }
  if (watched.waitingBytes === 0) steps.length = 0
  if (steps.length > MEASUREMENTS) steps.shift()
  if (steps.length < MEASUREMENTS) return false
  const due = steps.reduce((sum, step) => sum + step.dueBytes, 0)
  const taken = steps.reduce((sum, step) => sum + step.takenBytes, 0)
  return taken < due
}

/** Bytes that wait for the client: on the connection, and in responses after the current one. */
function bytesWaiting(socket: Socket, responses: readonly ServerResponse[]): number {
  let bytes = socket.writableLength
  for (const res of responses) {
    if (res.socket === null) bytes += res.writableLength
    // Its writer waits for the buffer to drain, so more is to come.
    else if (res.writableNeedDrain && !res.writableEnded) return Infinity
  }
  return bytes
}

function isUnderWay(res: ServerResponse): boolean {
  return !res.writableFinished && !res.destroyed
}
