import { setTimeout as wait } from 'node:timers/promises'
import { createInstallationKey } from '@plumbline/pipeline/installation-key'
import { groupNameOf } from '@plumbline/pipeline/keyed-stores'
import { backends } from '@plumbline/testkit/backends'
import { untilBatch } from '@plumbline/testkit/batches'
import { expect, test } from 'vitest'
import { addressesAt, INSTALLATION_KEY, openEmailService, submit } from './email-service.ts'
import type { EmailService } from './email-service.ts'

// Real workers against mail servers that log all commands. The large provider is domain 0 of each
// test's own names: it has one host, so that its log is that of the whole provider group.

/** Domains besides the limited one. */
const OTHERS = 40
const PER_DOMAIN = 10

test.concurrent.each(backends())(
  'a provider held to 1 connection and 60 recipients a minute delays no other domain by a second on $name',
  async (backend) => {
    // A round-trip time so long that it, not the machine, determines how long a batch takes.
    const limits = { SMTP_RECIPIENTS_PER_MINUTE: '60', SMTP_CONNECTIONS_PER_HOST: '1' }
    await using harness = await openEmailService(backend, 'side', 3, limits, 300)
    // 40 % of the mixed batch. Each run has other domains, so that nothing is cached. The addresses of
    // a domain are in one chunk: a domain also has only one connection, and they must not wait for
    // each other.
    const othersFrom = (first: number): readonly string[] =>
      Array.from({ length: OTHERS }, (_, at) => addressesAt(`side${first + at}`, PER_DOMAIN)).flat()
    const held = addressesAt('side0', 1_200)
    const alone: number[] = []
    const beside: number[] = []
    // Alternately, and the better of two, since the machine may be under other load.
    for (const [round, first] of [1, 1 + 2 * OTHERS].entries()) {
      alone.push(await othersMs(harness, othersFrom(first), first))
      const mixed = interleaved(
        held.slice(round * 600, (round + 1) * 600),
        othersFrom(first + OTHERS),
      )
      beside.push(await othersMs(harness, mixed, first + OTHERS))
    }
    expect(Math.min(...beside)).toBeLessThan(Math.min(...alone) + 1_000)
  },
)

/** Interleaves two lists: three of the first, two of the second. */
function interleaved(first: readonly string[], second: readonly string[]): readonly string[] {
  return second.flatMap((other, at) => {
    const from = Math.floor((at * first.length) / second.length)
    const to = Math.floor(((at + 1) * first.length) / second.length)
    return [...first.slice(from, to), other]
  })
}

/**
 * Runs a batch until only subjects of the limited provider are open, and cancels the rest. Returns the
 * milliseconds from its submission to the last probe of another domain, by the servers' log.
 */
async function othersMs(
  harness: EmailService,
  addresses: readonly string[],
  first: number,
): Promise<number> {
  const { service, simnet, caller } = harness
  const beganMs = Date.now()
  const id = await submit(caller, addresses)
  const hosts = Array.from({ length: OTHERS }, (_, at) => `mx.side${first + at}.example`)
  const heldGroup = groupNameOf('mx:side0.example', createInstallationKey(INSTALLATION_KEY))
  const signal = AbortSignal.timeout(150_000)
  for (;;) {
    signal.throwIfAborted()
    const { rows } = await service.db.pool.query<{ open: number }>(
      'select count(*)::int as open from tasks where group_key is distinct from $1',
      [heldGroup],
    )
    const { smtp } = await simnet.counters()
    const asked = hosts.flatMap((host) => smtp[host]?.rcptTimes ?? [])
    if (asked.length >= OTHERS * PER_DOMAIN && rows[0]?.open === 0) {
      await service.call(caller.key, 'POST', `/v1/batches/${id}/cancel`)
      await untilBatch(caller, id)
      return Math.max(...asked) - beganMs
    }
    await wait(20)
  }
}
