import type { Ended } from '@plumbline/metering/answer'
import { expect, test, vi } from 'vitest'
import { finalizeInBackground } from './charge.ts'

const answered = { accountId: 'acc', opKey: 'call:1' }

/** Fails so many times with an error, then notes. */
function metering(error: Error, times: number): { answered: () => Promise<Ended> } {
  let left = times
  return {
    answered: vi.fn<() => Promise<Ended>>(async () => {
      if (left-- > 0) throw error
      return { state: 'answered', given: 0 }
    }),
  }
}

const away = Object.assign(new Error('no connection'), { code: 'ECONNREFUSED' })

test('a note that finds the database away is tried again until it stands', async () => {
  const onError = vi.fn<(error: unknown) => void>()
  const moody = metering(away, 2)
  await finalizeInBackground({ metering: moody, timeoutMs: 60_000, onError, againMs: 1 }, answered)
  expect(moody.answered).toHaveBeenCalledTimes(3)
  expect(onError).not.toHaveBeenCalled()
})

test('a note is given up, and told of, once its debit would have been given back', async () => {
  const onError = vi.fn<(error: unknown) => void>()
  const gone = metering(away, Infinity)
  await finalizeInBackground({ metering: gone, timeoutMs: 0, onError }, answered)
  expect(onError).toHaveBeenCalledExactlyOnceWith(away)
})

test('a fault that is no outage is told of at once', async () => {
  const onError = vi.fn<(error: unknown) => void>()
  const broken = metering(new Error('metering is closed'), 1)
  await finalizeInBackground({ metering: broken, timeoutMs: 60_000, onError }, answered)
  expect(broken.answered).toHaveBeenCalledTimes(1)
  expect(onError).toHaveBeenCalledTimes(1)
})
