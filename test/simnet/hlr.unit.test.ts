import { HLR_ADAPTERS } from '@plumbline/phone/hlr/adapters'
import type { HlrAnswer, HlrFetch } from '@plumbline/phone/hlr/provider'
import { type HlrProviderName, HLR_PROVIDERS } from '@plumbline/ports/provider-status'
import { MAX_NUMBERS } from '@plumbline/phone/hlr/provider'
import { createEgress } from '@plumbline/net/egress'
import { fetchBounded } from '@plumbline/net/http'
import { createResolver } from '@plumbline/net/resolver'
import { expect, test, vi } from 'vitest'
import { startSimnet } from './simnet.ts'
import type { SimnetOptions } from './simnet.ts'

// Servers and processes start slowly on a machine that is busy with other tests.
vi.setConfig({ testTimeout: 30_000, hookTimeout: 30_000 })

/** Looks up numbers at a provider of a new world, as many in one request as it allows. */
async function ask(
  provider: HlrProviderName,
  numbers: readonly string[],
  options: SimnetOptions,
  rounds = 2,
): Promise<HlrAnswer[]> {
  await using simnet = await startSimnet({ seed: 7, ...options, hlrProvider: provider })
  const egress = createEgress({ allow: ['127.0.0.0/8'] })
  const resolver = createResolver({ servers: [simnet.settings['DNS_SERVERS'] ?? ''], egress })
  const fetch: HlrFetch = (request) => fetchBounded({ ...request, egress, resolver })
  const { HLR_URL: url = '', HLR_KEY: key = '', HLR_SECRET: secret = '' } = simnet.settings
  const answers: HlrAnswer[] = []
  const size = MAX_NUMBERS[provider]
  for (let at = 0; at < numbers.length; at += size) {
    const batch = numbers.slice(at, at + size)
    const query = {
      numbers: batch,
      account: { url, key, secret },
      fetch,
      timeoutMs: 2000,
      signal: AbortSignal.timeout(20_000),
      nowMs: Date.now(),
    }
    let found: readonly HlrAnswer[] = []
    // The first query of some numbers gets a temporary refusal.
    for (let round = 0; round < rounds; round++) found = await HLR_ADAPTERS[provider](query)
    answers.push(...found)
  }
  return answers
}

const NUMBERS = Array.from({ length: 60 }, (_, i) => `+4915112345${String(i).padStart(3, '0')}`)

test.each(HLR_PROVIDERS)('%s reports the state of every number of the world', async (provider) => {
  await using simnet = await startSimnet({ seed: 7 })
  const answers = await ask(provider, NUMBERS, {})
  const told = answers.map((answer, i) => {
    if (answer.kind !== 'verdict') return answer
    const { connectivity, carrier, ported, roaming } = answer
    const expected = simnet.world.expectPhone(NUMBERS[i] ?? '')
    // Facts that a provider does not know are null, never a guess.
    return {
      connectivity,
      carrier: expected.carrier === null ? null : carrier,
      ported: expected.ported === null ? null : (ported ?? expected.ported),
      roaming: expected.roaming === null ? null : (roaming ?? expected.roaming),
    }
  })
  const expected = NUMBERS.map((number) => {
    const { state, carrier, ported, roaming } = simnet.world.expectPhone(number)
    const silent = state === 'unknown-subscriber' && provider === 'vonage-identity'
    const connectivity = silent ? 'undetermined' : state.replace('-', '_')
    return { connectivity, carrier, ported, roaming }
  })
  expect(told).toEqual(expected)
})

test.each(HLR_PROVIDERS)(
  '%s fails with a reason without credit, and when the connection is cut after the query',
  async (provider) => {
    const [broke] = await ask(
      provider,
      NUMBERS.slice(0, 1),
      { hlrFaults: { outOfCredit: true } },
      1,
    )
    expect(broke?.kind === 'verdict' ? broke.connectivity : broke?.cause).toMatch(
      /credit|credentials|undetermined/,
    )
    const [lost] = await ask(
      provider,
      NUMBERS.slice(0, 1),
      { hlrFaults: { lostPerMille: 1000 } },
      1,
    )
    expect(lost).toMatchObject({ kind: 'failed', maybeBought: true })
    const [garbage] = await ask(
      provider,
      NUMBERS.slice(0, 1),
      { hlrFaults: { garbagePerMille: 1000 } },
      1,
    )
    expect(garbage).toMatchObject({ kind: 'failed', maybeBought: true })
  },
)
