import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { MIN_BYTES_PER_SECOND } from './body-stream.ts'

/** Ends connections whose clients do not take what they asked for. */
export interface SlowReaders extends Disposable {
  /** Looks after a connection until it closes. */
  watch(socket: Socket): void
  /** Tells of an answer that a connection is to bring, behind those that were told before. */
  expect(res: ServerResponse): void
}

/** What is too slow, and who hears of it. */
export interface SlowReadersOptions {
  /** Over so long the least rate is judged. */
  readonly timeoutMs: number
  /** Called with a connection before it is ended. */
  readonly onSlow: (socket: Socket) => void
}

/** How often in its time a connection is looked at. */
const LOOKS = 6

/** Answers under way on one connection from which on those that are over are dropped. */
const TIDY_AT = 16

interface Watched {
  /** Answers that are not known to be sent, oldest first. */
  answers: ServerResponse[]
  /** What waited for the client at the last look, in bytes; more than is known counts as infinite. */
  waitingBytes: number
  takenBytes: number
  /** From look to look, the latest last: what had to be taken, and what was. */
  steps: { readonly dueBytes: number; readonly takenBytes: number }[]
}

/**
 * Ends each connection that, over `timeoutMs`, takes less of what waits for it than the rate that bodies
 * must come at. Nothing is due while nothing waits, so connections that are idle or wait for us stay.
 */
export function endSlowReaders({ timeoutMs, onSlow }: SlowReadersOptions): SlowReaders {
  const connections = new Map<Socket, Watched>()
  const lookMs = timeoutMs / LOOKS
  const dueBytes = (MIN_BYTES_PER_SECOND * lookMs) / 1_000
  const timer = setInterval(() => {
    for (const [socket, watched] of connections) {
      if (!isTooSlow(socket, watched, dueBytes)) continue
      connections.delete(socket)
      onSlow(socket)
      // What the kernel still holds for it would otherwise stay for as long as the client likes.
      socket.resetAndDestroy()
    }
  }, lookMs)
  timer.unref()
  return {
    watch: (socket) => {
      connections.set(socket, { answers: [], waitingBytes: 0, takenBytes: 0, steps: [] })
      socket.once('close', () => connections.delete(socket))
    },
    expect: (res) => {
      const watched = connections.get(res.req.socket)
      if (watched === undefined) return
      const { answers } = watched
      // The ordinary client asks for one thing after the other.
      if (answers.at(-1)?.writableFinished === true) answers.length = 0
      else if (answers.length >= TIDY_AT) watched.answers = answers.filter(isUnderWay)
      watched.answers.push(res)
    },
    [Symbol.dispose]: () => clearInterval(timer),
  }
}

function isTooSlow(socket: Socket, watched: Watched, dueBytes: number): boolean {
  const { waitingBytes, takenBytes, steps } = watched
  watched.waitingBytes = bytesWaiting(socket, watched.answers)
  // What was written, less what the system has not taken.
  watched.takenBytes = socket.bytesWritten - socket.writableLength
  if (waitingBytes > 0) {
    const due = Math.min(waitingBytes, dueBytes)
    steps.push({ dueBytes: due, takenBytes: watched.takenBytes - takenBytes })
  }
  if (watched.waitingBytes === 0) steps.length = 0
  if (steps.length > LOOKS) steps.shift()
  if (steps.length < LOOKS) return false
  const due = steps.reduce((sum, step) => sum + step.dueBytes, 0)
  const taken = steps.reduce((sum, step) => sum + step.takenBytes, 0)
  return taken < due
}

/** What waits for the client: on the connection, and in answers that come behind the one under way. */
function bytesWaiting(socket: Socket, answers: readonly ServerResponse[]): number {
  let bytes = socket.writableLength
  for (const res of answers) {
    if (res.socket === null) bytes += res.writableLength
    // The rest of it waits for room.
    else if (res.writableNeedDrain && !res.writableEnded) return Infinity
  }
  return bytes
}

function isUnderWay(res: ServerResponse): boolean {
  return !res.writableFinished && !res.destroyed
}
