import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { MIN_BYTES_PER_SECOND } from './body-stream.ts'

/** Ends connections whose clients read their responses too slowly. */
export interface SlowReaders extends Disposable {
  /** Watches a connection until it closes. */
  watch(socket: Socket): void
}

/** Definition of too slow, and the function that is notified. */
export interface SlowReadersOptions {
  /** The time over which the rate is measured, in milliseconds. */
  readonly timeoutMs: number
  /** The responses of a connection that may not be sent yet. */
  readonly unsentOf: (socket: Socket) => readonly ServerResponse[]
  /** Called with a connection before it is ended. */
  readonly onSlow: (socket: Socket) => void
}

/** Measurements of a connection within `timeoutMs`. */
const MEASUREMENTS = 6

interface Watched {
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
export function endSlowReaders({ timeoutMs, unsentOf, onSlow }: SlowReadersOptions): SlowReaders {
  const connections = new Map<Socket, Watched>()
  const everyMs = timeoutMs / MEASUREMENTS
  const dueBytes = (MIN_BYTES_PER_SECOND * everyMs) / 1_000
  const timer = setInterval(() => {
    for (const [socket, watched] of connections) {
      if (!isTooSlow(socket, unsentOf(socket), watched, dueBytes)) continue
      connections.delete(socket)
      onSlow(socket)
      // Else the kernel would keep its unsent data for as long as the client likes.
      socket.resetAndDestroy()
    }
  }, everyMs)
  timer.unref()
  return {
    watch: (socket) => {
      connections.set(socket, { waitingBytes: 0, takenBytes: 0, steps: [] })
      socket.once('close', () => connections.delete(socket))
    },
    [Symbol.dispose]: () => clearInterval(timer),
  }
}

function isTooSlow(
  socket: Socket,
  unsent: readonly ServerResponse[],
  watched: Watched,
  dueBytes: number,
): boolean {
  const { waitingBytes, takenBytes, steps } = watched
  watched.waitingBytes = bytesWaiting(socket, unsent)
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
function bytesWaiting(socket: Socket, unsent: readonly ServerResponse[]): number {
  let bytes = socket.writableLength
  for (const res of unsent) {
    if (res.socket === null) bytes += res.writableLength
    // Its writer waits for the buffer to drain, so more is to come.
    else if (res.writableNeedDrain && !res.writableEnded) return Infinity
  }
  return bytes
}
