import { expect, test } from 'vitest'
import { WakeUp } from './wake-up.ts'

const LONG_MS = 3_600_000

test('waking ends every wait under way, and none that begins later', async () => {
  const wakeUp = new WakeUp()
  const stop = new AbortController()
  const waits = [wakeUp.wait(LONG_MS, stop.signal), wakeUp.wait(LONG_MS, stop.signal)]
  wakeUp.wake()
  await Promise.all(waits)
  let isOver = false
  const later = wakeUp.wait(LONG_MS, stop.signal).then(() => (isOver = true))
  await wakeUp.wait(1, stop.signal)
  expect(isOver).toBe(false)
  stop.abort()
  await later
})

test('a wait ends after its time, and none begins once its signal has aborted', async () => {
  const wakeUp = new WakeUp()
  expect(await wakeUp.wait(1, new AbortController().signal)).toBeUndefined()
  expect(await wakeUp.wait(LONG_MS, AbortSignal.abort())).toBeUndefined()
})
