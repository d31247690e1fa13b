import { Writable } from 'node:stream'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { exitOnceWritten } from './leave.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout'] })
})
afterEach(() => {
  vi.useRealTimers()
})

test('the process stays until a slow reader has all of the output', async () => {
  const pieces: { readonly text: string; readonly taken: () => void }[] = []
  const output = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      pieces.push({ text: chunk.toString(), taken: done })
    },
  })
  const exit = vi.fn<() => void>()
  output.write('first half, ')
  output.write('second half')
  exitOnceWritten(output, exit)
  await vi.advanceTimersByTimeAsync(60_000)
  expect(exit).not.toHaveBeenCalled()
  for (let at = 0; at < 3; at += 1) {
    pieces[at]?.taken()
    await new Promise(setImmediate)
  }
  expect(pieces.map(({ text }) => text).join('')).toBe('first half, second half')
  await vi.advanceTimersByTimeAsync(60_000)
  expect(exit).toHaveBeenCalledOnce()
})
