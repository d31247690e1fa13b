import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { endSlowReaders, type SlowReaders } from './slow-readers.ts'

const KIB = 1_024
const MIB = 1_024 * KIB
const TIMEOUT_MS = 30_000

/** A fake connection: the bytes written to it, and those that the system has not taken. */
class Pipe extends EventEmitter {
  bytesWritten = 0
  writableLength = 0
  ended = false

  write(bytes: number): void {
    this.bytesWritten += bytes
    this.writableLength += bytes
  }

  take(bytes: number): void {
    this.writableLength = Math.max(0, this.writableLength - bytes)
  }

  resetAndDestroy(): void {
    this.ended = true
    this.emit('close')
  }
}

/** Safe because the watch uses only the members of a socket that a pipe has. */
const asSocket = (pipe: Pipe): Socket => pipe as unknown as Socket

interface Answer {
  socket: unknown
  writableLength: number
  writableNeedDrain?: boolean
  writableEnded?: boolean
  writableFinished?: boolean
}

let slowReaders: SlowReaders
let pipe: Pipe
let unsent: ServerResponse[]
const onSlow = vi.fn<(socket: Socket) => void>()

beforeEach(() => {
  vi.useFakeTimers()
  onSlow.mockReset()
  slowReaders = endSlowReaders({ timeoutMs: TIMEOUT_MS, unsentOf: () => unsent, onSlow })
  pipe = new Pipe()
  unsent = []
  slowReaders.watch(asSocket(pipe))
})
afterEach(() => {
  slowReaders[Symbol.dispose]()
  vi.useRealTimers()
})

/** Safe because the watch uses only the members of a response that are set here. */
function expectAnswer(answer: Answer): void {
  unsent.push(answer as unknown as ServerResponse)
}

/** Advances the clock by seconds, and calls `each` in every second. */
function pass(seconds: number, each: () => void): void {
  for (let second = 0; second < seconds && !pipe.ended; second += 1) {
    each()
    vi.advanceTimersByTime(1_000)
  }
}

test('a client that reads less than 16 KiB a second of waiting responses is disconnected after the time-out', () => {
  pipe.write(10 * MIB)
  pass(29, () => pipe.take(15 * KIB))
  expect(pipe.ended).toBe(false)
  pass(10, () => pipe.take(15 * KIB))
  expect(pipe.ended).toBe(true)
  expect(onSlow).toHaveBeenCalledOnce()
})

test('a client that reads more than that stays connected', () => {
  pipe.write(10 * MIB)
  pass(300, () => pipe.take(17 * KIB))
  expect(pipe.ended).toBe(false)
})

test('a client that read fast and stops is disconnected as soon', () => {
  pipe.write(100 * MIB)
  pass(60, () => pipe.take(MIB))
  pass(40, () => pipe.take(0))
  expect(pipe.ended).toBe(true)
})

test('a client that reads everything stays connected, however little that is', () => {
  pass(300, () => {
    pipe.take(KIB)
    pipe.write(KIB)
  })
  expect(pipe.ended).toBe(false)
})

test('a client that waits for us stays connected', () => {
  pass(300, () => undefined)
  expect(pipe.ended).toBe(false)
})

test('responses queued after the current one count: reading them one by one is too slow', () => {
  for (let no = 0; no < 100; no += 1) expectAnswer({ socket: null, writableLength: KIB })
  pass(40, () => {
    pipe.take(KIB / 4)
    if (pipe.writableLength === 0) pipe.write(KIB)
  })
  expect(pipe.ended).toBe(true)
})

test('a response that waits for a drain has more bytes than its connection buffers', () => {
  const answer = { socket: pipe, writableLength: 0, writableNeedDrain: true, writableEnded: false }
  expectAnswer(answer)
  // Each look finds 64 KiB, of which all is taken until the next: 13 KiB a second.
  for (let look = 0; look < 12 && !pipe.ended; look += 1) {
    pipe.take(64 * KIB)
    pipe.write(64 * KIB)
    vi.advanceTimersByTime(5_000)
  }
  expect(pipe.ended).toBe(true)
})
