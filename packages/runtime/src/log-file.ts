import { write, writeSync } from 'node:fs'
import type { DestinationStream } from 'pino'
import { hasCode } from './error-code.ts'

/** Characters that are written at once: Docker splits longer pieces. */
const PIECE_CHARS = 16 * 1_024

/** Maximum characters that wait for a slow reader; further lines are lost. */
const WAITING_MAX_CHARS = 8 * 1_048_576

/** Milliseconds before a pipe that is full is tried again, and for which an exit waits for it. */
const FULL_MS = 100
const EXIT_MS = 1_000

/**
 * Writes lines to a file descriptor, in order and without blocking; at the exit of the process what
 * is left. Lines that cannot be written are lost, as on a full disk or without a reader, and the
 * program goes on. The destination of pino would end it with the first one, and wait on its way out
 * until there is space.
 */
export function openLogFile(fd: number): DestinationStream {
  const waiting: string[] = []
  let waitingChars = 0
  let piece: Buffer | undefined
  let isWriting = false

  const nextPiece = (): Buffer | undefined => {
    const text = waiting.shift()
    waitingChars -= text?.length ?? 0
    return text === undefined ? undefined : Buffer.from(text)
  }
  const send = (): void => {
    piece ??= nextPiece()
    if (piece === undefined) {
      process.off('exit', sendRest)
      return
    }
    isWriting = true
    write(fd, piece, (error, count) => {
      isWriting = false
      if (isFull(error)) return void setTimeout(send, FULL_MS).unref()
      piece = error === null ? restOf(piece, count) : undefined
      send()
    })
  }
  const sendRest = (): void => {
    // What is being written may be written already.
    if (isWriting) piece = undefined
    const untilMs = performance.now() + EXIT_MS
    for (piece ??= nextPiece(); piece !== undefined; piece ??= nextPiece()) {
      try {
        piece = restOf(piece, writeSync(fd, piece))
      } catch (error) {
        if (!isFull(error) || performance.now() > untilMs) return
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, FULL_MS)
      }
    }
  }
  return {
    write: (line) => {
      if (waitingChars + line.length > WAITING_MAX_CHARS) return
      waitingChars += line.length
      const last = waiting.at(-1)
      if (last === undefined || last.length + line.length > PIECE_CHARS) waiting.push(line)
      else waiting[waiting.length - 1] = last + line
      if (piece !== undefined) return
      process.on('exit', sendRest)
      send()
    },
  }
}

function restOf(piece: Buffer | undefined, count: number): Buffer | undefined {
  const rest = piece?.subarray(count)
  return rest?.length === 0 ? undefined : rest
}

/** Whether an error says that a pipe takes nothing at present. */
function isFull(error: unknown): boolean {
  return hasCode(error, 'EAGAIN') || hasCode(error, 'EBUSY')
}
