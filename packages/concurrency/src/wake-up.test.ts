import { expect, test } from 'vitest'
import { WakeUp } from './wake-up.ts'

const LONG_MS = 3_600_000

test('a ring ends every rest under way, and none that begins later', async () => {
  const wakeUp = new WakeUp()
  const stop = new AbortController()
  const rests = [wakeUp.rest(LONG_MS, stop.signal), wakeUp.rest(LONG_MS, stop.signal)]
  wakeUp.ring()
  await Promise.all(rests)
  let isOver = false
  const later = wakeUp.rest(LONG_MS, stop.signal).then(() => (isOver = true))
  await wakeUp.rest(1, stop.signal)
  expect(isOver).toBe(false)
  stop.abort()
  await later
})

test('a rest ends by itself, and none begins once its signal has aborted', async () => {
  const wakeUp = new WakeUp()
  expect(await wakeUp.rest(1, new AbortController().signal)).toBeUndefined()
  expect(await wakeUp.rest(LONG_MS, AbortSignal.abort())).toBeUndefined()
})
