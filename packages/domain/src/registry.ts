import type { Json } from '@plumbline/contract/outcome'
import { createSingleFlight } from '@plumbline/concurrency/single-flight'
import type { RegistryCaller } from './registry-rate-limiter.ts'
import type { DomainName } from './name.ts'
import { rdapInstant } from './rdap-parse.ts'
import { askRdap } from './rdap.ts'
import type { RdapAnswer, RdapNet } from './rdap.ts'
import type { RdapBase, RdapBootstrap } from './rdap-bootstrap.ts'
import { UNKNOWN, fromServer, laterOf, laterAfterThrottle } from './registration.ts'
import type { LookupResult, Registration } from './registration.ts'
import type { QueryResult } from './registry-server.ts'
import { createWhoisLookup } from './whois-lookup.ts'
import type { Told, WhoisLookup, WhoisLookupOptions } from './whois-lookup.ts'
import { momentFor, nameFor, type Sharing } from '@plumbline/ports/sharing'

/** Looks up registrations. */
export interface Registry {
  /**
   * A registration found out by a call of another account is returned with its day only, or not at
   * all if accounts share nothing.
   */
  lookUp(name: DomainName, caller: RegistryCaller, told?: Told): Promise<LookupResult>
}

/** Settings and dependencies of the lookup of registrations. */
export interface RegistryOptions extends WhoisLookupOptions, Sharing {
  readonly bootstrap: RdapBootstrap
  readonly clock: () => Date
  readonly rdap: RdapNet
}

const POSITIVE_TTL_MS = 24 * 3_600_000
const NEGATIVE_TTL_MS = 3_600_000
/** As long as the first pauses of a server that gives no replies, or a few of them. */
const PARTIAL_TTL_MS = 5 * 60_000

/**
 * Makes the lookup of registrations: cache, then RDAP if the zone supports it, then WHOIS. A
 * registration is cached for a day and a denial for an hour; unknown results are not. One whose
 * registrar gave no reply is cached for minutes, and not at all if the call ended meanwhile.
 * Concurrent tasks of batches share the lookup of a name.
 */
export function createRegistry(options: RegistryOptions): Registry {
  const whois = createWhoisLookup(options)
  const shared = createSingleFlight<LookupResult>()
  return {
    async lookUp(name, caller, told) {
      const key = registrationKey(name.registrable, caller.account, options)
      const tellingWhois: WhoisLookup = (of, by, earlier) => whois(of, by, earlier, told)
      const lookUp = (): Promise<LookupResult> =>
        lookUpOne(options, tellingWhois, key, name, caller)
      // A single call has its own place in the rate limiter's queue, and accepts `throttled` as a
      // result.
      return caller.lane === 'live' ? lookUp() : shared(key, caller.signal, lookUp)
    },
  }
}

/** Cache key of a name's registration for an account. */
export function registrationKey(registrable: string, account: string, sharing: Sharing): string {
  return nameFor(`domain:registration:${registrable}`, account, sharing)
}

async function lookUpOne(
  options: RegistryOptions,
  whois: WhoisLookup,
  key: string,
  name: DomainName,
  caller: RegistryCaller,
): Promise<LookupResult> {
  const { account } = caller
  const [held] = await options.memory.get([key])
  const kept = held === undefined ? null : fromMemory(held, account)
  if (kept !== null) return kept
  const lookup = await overRdap(options, name, caller, whois)
  const ttlMs = ttlOf(lookup, caller.signal)
  if (lookup.kind === 'registration' && ttlMs > 0) {
    const atMs = options.clock().getTime()
    const value = { ...lookup.registration, atMs, by: account }
    await options.memory.set([{ key, value, ttlMs, isCached: true }])
  }
  return lookup
}

/** Milliseconds for which a registration is cached; 0: not at all. */
function ttlOf(lookup: LookupResult, signal: AbortSignal): number {
  if (lookup.kind !== 'registration' || lookup.registration.registered === null) return 0
  if (lookup.isPartial === true) return signal.aborted ? 0 : PARTIAL_TTL_MS
  return lookup.registration.registered ? POSITIVE_TTL_MS : NEGATIVE_TTL_MS
}

async function overRdap(
  options: RegistryOptions,
  name: DomainName,
  caller: RegistryCaller,
  whois: WhoisLookup,
): Promise<LookupResult> {
  const base = await options.bootstrap.baseOf(name.registrable, caller.signal)
  if (base === null) return whois(name, caller, { faults: ['no RDAP server is listed'] })
  const server = `rdap:${new URL(base.url).hostname}`
  const limited = await options.rateLimiter.run(server, caller, async () => {
    const value = await askRdap(base, name.registrable, options.rdap, caller.signal)
    return { value, result: resultOf(value, name) }
  })
  const wait = laterOf(limited, caller, server)
  if (wait !== null) return wait
  const throttled = limited.kind === 'paused' && limited.why === 'throttled'
  if (limited.kind !== 'done')
    return whois(name, caller, { throttled, faults: [`${server}: ${limited.kind}`] })
  const answer = limited.value
  switch (answer.kind) {
    case 'found':
      return fromServer(fromRdap(answer, base, name))
    case 'absent':
      return fromServer({
        ...UNKNOWN,
        registered: false,
        reason: 'unregistered',
        source: 'rdap',
        server: answer.server,
        exact: base.suffix === name.suffix,
      })
    case 'throttled':
      if (caller.lane === 'bulk') return laterAfterThrottle(server, answer.retryMs, answer.isSure)
      return whois(name, caller, { throttled: true, faults: [`${server}: throttled`] })
    case 'failed':
      return whois(name, caller, { failed: true, faults: [`${server}: ${answer.fault}`] })
  }
}

function resultOf(answer: RdapAnswer, name: DomainName): QueryResult {
  if (answer.kind === 'throttled') {
    return answer.isSure
      ? { kind: 'throttled', retryMs: answer.retryMs }
      : { kind: 'refused', name: name.registrable }
  }
  return { kind: answer.kind === 'failed' && answer.busy ? 'silent' : 'answered' }
}

function fromRdap(
  answer: Extract<RdapAnswer, { kind: 'found' }>,
  base: RdapBase,
  name: DomainName,
): Registration {
  const { record, server } = answer
  return {
    registered: true,
    reason: 'registered',
    registrar: record.registrar,
    created: record.created === null ? null : rdapInstant(record.created),
    expires: record.expires === null ? null : rdapInstant(record.expires),
    statuses: record.statuses,
    reserved: record.statuses.includes('reserved'),
    source: 'rdap',
    server,
    exact: base.suffix === name.suffix,
    faults: [],
  }
}

/** Safe: only this module writes under its keys, and the fields that decide are checked. */
function fromMemory(held: Json, account: string): LookupResult | null {
  if (typeof held !== 'object' || held === null || Array.isArray(held)) return null
  if (!('registered' in held) || typeof held['registered'] !== 'boolean') return null
  const { atMs, by, ...registration } = held
  const finder = typeof by === 'string' ? by : undefined
  return {
    kind: 'registration',
    registration: { ...UNKNOWN, ...registration },
    cached: true,
    // Entries of an earlier version have none.
    ...(typeof atMs === 'number' ? { atMs: momentFor(atMs, finder, account) } : {}),
  }
}
