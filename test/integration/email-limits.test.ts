import { setTimeout as wait } from 'node:timers/promises'
import { backends } from '@plumbline/testkit/backends'
import type { Backend } from '@plumbline/testkit/backends'
import { expect, test } from 'vitest'
import { addressesAt, openEmailService, submit } from './email-service.ts'

// Real workers against mail servers that log all commands. The large provider is domain 0 of each
// test's own names: it has one host, so that its log is that of the whole provider group.

const WINDOW_MS = 60_000

test('rate and connection caps hold in every 60-second window with three workers', async () => {
  const [perMinute, connections] = [120, 2]
  const runOn = async (backend: Backend): Promise<void> => {
    await using harness = await openEmailService(backend, 'cap', 3, {
      SMTP_RECIPIENTS_PER_MINUTE: String(perMinute),
      SMTP_CONNECTIONS_PER_HOST: String(connections),
    })
    const others = Array.from({ length: 90 }, (_, at) => `user${at}@cap${1 + (at % 30)}.example`)
    await submit(harness.caller, [...addressesAt('cap0', 400), ...others])
    await wait(WINDOW_MS * 1.25)
    const { smtp } = await harness.simnet.counters()
    // Arrivals within so much of a window lay within a whole one, though the first were seen late.
    const seenMs = WINDOW_MS - (await harness.simnet.eventLoopDelayMs())
    for (const [host, seen] of Object.entries(smtp)) {
      expect([host, mostWithin(seen.rcptTimes, seenMs) <= perMinute]).toEqual([host, true])
      expect([host, seen.mostOpen <= connections]).toEqual([host, true])
      expect([host, seen.dataCommands]).toEqual([host, 0])
    }
    // It is used up to its limit, not less.
    expect(mostWithin(smtp['mx.cap0.example']?.rcptTimes ?? [], WINDOW_MS)).toBeGreaterThan(
      perMinute * 0.7,
    )
  }
  await Promise.all(backends().map(runOn))
})

/** The most time stamps, in order, that fall into any window of this length. */
function mostWithin(times: readonly number[], windowMs: number): number {
  let most = 0
  let first = 0
  times.forEach((atMs, last) => {
    while (atMs - (times[first] ?? atMs) >= windowMs) first++
    most = Math.max(most, last - first + 1)
  })
  return most
}
