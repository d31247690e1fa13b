import type { Engine, EngineRequest, Answer } from '@plumbline/ports/engine'
import type { Budget } from '@plumbline/ports/budget'
import type { Memory } from '@plumbline/ports/memory'
import type { HttpAnswer } from '@plumbline/net/http'
import { createPhoneEngine } from './engine.ts'
import type { HlrFetch } from './hlr/provider.ts'
import type { HlrPolicy, HlrProviderSettings } from './policy.ts'
import { loadPhonePrefixes, type PhonePrefixes } from './prefixes.ts'
import {
  createTestBudget,
  createTestClock,
  createTestLimiter,
  createTestMemory,
  type TestClock,
} from './stores-fixture.ts'

/** The preferred provider, one number a request. */
export const FIRST: HlrProviderSettings = { name: 'hlr-lookups', url: null, key: 'k', secret: 's' }
/** Another provider, ten numbers a request. */
export const SECOND: HlrProviderSettings = { name: 'messente', url: null, key: 'k', secret: 's' }
/** A mobile number of Switzerland. */
export const MOBILE = '+41791234567'

/** Reply of a provider about a number. */
export type Reply = (
  number: string,
  provider: 'hlr-lookups' | 'messente',
) => HttpAnswer | Promise<HttpAnswer>

/** Scripted providers, and the stores that workers share. */
export interface HlrFixture {
  readonly clock: TestClock
  readonly memory: Memory
  readonly limiter: ReturnType<typeof createTestLimiter>
  readonly budget: Budget
  readonly bought: string[]
  readonly fetch: HlrFetch
}

/** Providers that reply to every number as `reply` says. */
export function createHlrFixture(reply: Reply = () => json(connected())): HlrFixture {
  const clock = createTestClock()
  const bought: string[] = []
  const fetch: HlrFetch = async ({ url, body }) => {
    await new Promise(setImmediate)
    const numbers = String(body).match(/\+\d+/g) ?? []
    bought.push(...numbers)
    const [number = ''] = numbers
    return reply(number, url.includes('messente') ? 'messente' : 'hlr-lookups')
  }
  return {
    clock,
    memory: createTestMemory(clock),
    limiter: createTestLimiter(clock),
    budget: createTestBudget(clock),
    bought,
    fetch,
  }
}

/**
 * Loaded once for all engines of a test: loading takes 60 ms, and tests make hundreds of engines.
 */
let prefixes: PhonePrefixes | undefined

/** An engine that uses these providers. */
export async function engineOf(
  fixture: HlrFixture,
  providers: readonly HlrProviderSettings[] = [FIRST],
  policy: Partial<HlrPolicy> = {},
): Promise<Engine<'phone'>> {
  prefixes ??= await loadPhonePrefixes()
  const log = { warn: () => undefined }
  return createPhoneEngine({ ...fixture, providers, policy, prefixes, log })
}

/** Sends numbers to an engine, as a live call by default. */
export function ask(
  engine: Engine<'phone'>,
  subjects: readonly string[],
  more: Partial<EngineRequest<'phone'>> = {},
): Promise<readonly Answer<'phone'>[]> {
  return engine.run({
    subjects,
    depth: 'basic',
    lane: 'live',
    account: 't',
    signal: new AbortController().signal,
    ...more,
  })
}

/** Reply of hlr-lookups for a connected number. */
export function connected(): object {
  return {
    id: 'a1',
    connectivity_status: 'CONNECTED',
    original_network_name: 'Swisscom',
    original_country_code: 'CH',
    is_ported: false,
    is_roaming: false,
  }
}

/** Reply of Messente for one number. */
export function messente(word: string): object {
  return { result: [{ number: MOBILE, status: word, ported: false, roaming: false }] }
}

/** A reply with a body. */
export function json(body: object): HttpAnswer {
  const bytes = Buffer.from(JSON.stringify(body))
  return {
    kind: 'response',
    status: 200,
    headers: {},
    body: bytes,
    cut: false,
    url: '',
    redirects: 0,
  }
}

/** A reply with a status and an empty body. */
export function status(code: number): HttpAnswer {
  return {
    kind: 'response',
    status: code,
    headers: {},
    body: Buffer.from('{}'),
    cut: false,
    url: '',
    redirects: 0,
  }
}

/** A request that failed. */
export function failed(reason: 'timeout', sent: boolean): HttpAnswer {
  return { kind: 'failed', reason, detail: 'no answer', url: '', sent }
}
