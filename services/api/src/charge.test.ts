import type { ClosedDebit } from '@plumbline/metering/debit-closing'
import { expect, test, vi } from 'vitest'
import { finalizeInBackground } from './charge.ts'

const answered = { accountId: 'acc', opKey: 'call:1' }

/** Fails `times` times with an error, then makes the debit final. */
function metering(error: Error, times: number): { finalize: () => Promise<ClosedDebit> } {
  let left = times
  return {
    finalize: vi.fn<() => Promise<ClosedDebit>>(async () => {
      if (left-- > 0) throw error
      return { state: 'answered', given: 0 }
    }),
  }
}

const away = Object.assign(new Error('no connection'), { code: 'ECONNREFUSED' })

test('a debit is made final once the database is back', async () => {
  const onError = vi.fn<(error: unknown) => void>()
  const flaky = metering(away, 2)
  await finalizeInBackground({ metering: flaky, timeoutMs: 60_000, onError, retryMs: 1 }, answered)
  expect(flaky.finalize).toHaveBeenCalledTimes(3)
  expect(onError).not.toHaveBeenCalled()
})

test('a debit is given up, and reported, once it would have been refunded', async () => {
  const onError = vi.fn<(error: unknown) => void>()
  const gone = metering(away, Infinity)
  await finalizeInBackground({ metering: gone, timeoutMs: 0, onError }, answered)
  expect(onError).toHaveBeenCalledExactlyOnceWith(away)
})

test('an error that is no outage is reported at once', async () => {
  const onError = vi.fn<(error: unknown) => void>()
  const broken = metering(new Error('metering is closed'), 1)
  await finalizeInBackground({ metering: broken, timeoutMs: 60_000, onError }, answered)
  expect(broken.finalize).toHaveBeenCalledTimes(1)
  expect(onError).toHaveBeenCalledTimes(1)
})
