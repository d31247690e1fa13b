import { createLocalLimiter } from '@plumbline/queue/local-limiter'
import { expect, test } from 'vitest'
import { createFailedKeyLimit, type FailedKeyLimit } from './failed-key-limit.ts'
import { createRateLimit } from './rate-limit.ts'

/** A limit of three failures a minute, by a clock that only the test advances. */
function failures(): { failedKeys: FailedKeyLimit; pass: (ms: number) => void } {
  let time = 0
  const now = (): number => time
  const limiter = createLocalLimiter({ nowMs: now })
  const rate = createRateLimit({ name: 'failed', perSecond: 3 / 60, burst: 3, limiter })
  return {
    failedKeys: createFailedKeyLimit({ rate, perMinute: 3, now }),
    pass: (ms) => {
      time += ms
    },
  }
}

test('no more keys are looked up concurrently than may fail', () => {
  const { failedKeys } = failures()
  const reserved = [1, 2, 3].map(() => failedKeys.reserve('a'))
  expect(reserved.every((one) => one !== undefined)).toBe(true)
  expect(failedKeys.reserve('a')).toBeUndefined()
  expect(failedKeys.reserve('b')).toBeDefined()
  // One of them was good.
  reserved[0]?.[Symbol.dispose]()
  expect(failedKeys.reserve('a')).toBeDefined()
})

test('a failure is refilled after its time', async () => {
  const { failedKeys, pass } = failures()
  for (let no = 0; no < 3; no += 1) {
    using _ = failedKeys.reserve('a')
    await failedKeys.take('a')
  }
  expect(failedKeys.reserve('a')).toBeUndefined()
  pass(failedKeys.retryMs - 1)
  expect(failedKeys.reserve('a')).toBeUndefined()
  pass(1)
  expect(failedKeys.reserve('a')).toBeDefined()
})

test('an address may never fail more often than in a minute, however long it was quiet', async () => {
  const { failedKeys, pass } = failures()
  await failedKeys.take('a')
  pass(600_000)
  const reserved = [1, 2, 3, 4].map(() => failedKeys.reserve('a') !== undefined)
  expect(reserved).toEqual([true, true, true, false])
})

test('failures counted by another process are known once a further one is refused', async () => {
  let time = 0
  const now = (): number => time
  const limiter = createLocalLimiter({ nowMs: now })
  const rate = createRateLimit({ name: 'failed', perSecond: 3 / 60, burst: 3, limiter })
  const [one, other] = [1, 2].map(() => createFailedKeyLimit({ rate, perMinute: 3, now }))
  for (let no = 0; no < 3; no += 1) await one?.take('a')
  expect(other?.reserve('a')).toBeDefined()
  expect(await other?.take('a')).toMatchObject({ granted: false })
  time += 1
  expect(other?.reserve('a')).toBeUndefined()
})
