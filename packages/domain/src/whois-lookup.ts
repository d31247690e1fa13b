import { createSingleFlight } from '@plumbline/concurrency/single-flight'
import type { Memory } from '@plumbline/ports/memory'
import type { RegistryRateLimiter, RegistryCaller } from './registry-rate-limiter.ts'
import type { DomainName } from './name.ts'
import { UNKNOWN, fromServer, laterOf, laterAfterThrottle } from './registration.ts'
import type { LookupResult, Registration } from './registration.ts'
import { plainStatus } from './registration-status.ts'
import type { QueryResult } from './registry-server.ts'
import { parseWhois } from './whois-parse.ts'
import type { WhoisRecord } from './whois-parse.ts'
import { WHOIS_ZONES, whoisQuery } from './whois-servers.ts'
import { askWhois, isHost } from './whois.ts'
import type { WhoisAnswer, WhoisNet } from './whois.ts'

/** Results and errors of the queries that preceded WHOIS. */
export interface EarlierQueries {
  readonly throttled?: boolean
  readonly failed?: boolean
  readonly faults: readonly string[]
}

/** Called with what the registry has said, before the registrar is queried for the rest. */
export type Told = (known: LookupResult) => void

/** Looks up a name over WHOIS. */
export type WhoisLookup = (
  name: DomainName,
  caller: RegistryCaller,
  earlier: EarlierQueries,
  told?: Told,
) => Promise<LookupResult>

/** Settings and dependencies of the lookup over WHOIS. */
export interface WhoisLookupOptions {
  readonly rateLimiter: RegistryRateLimiter
  readonly memory: Memory
  /** `root`: the server that refers to each zone's own. */
  readonly whois: WhoisNet & { readonly root: string }
}

const SERVER_TTL_MS = 7 * 24 * 3_600_000
const NO_SERVER_TTL_MS = 24 * 3_600_000

/**
 * Makes the lookup over port 43: the root server refers to the registry's server, which is queried
 * for the name; if its reply lacks the registrar or a date, the registrar's own server is queried
 * once.
 */
export function createWhoisLookup(options: WhoisLookupOptions): WhoisLookup {
  const shared = createSingleFlight<Host>()
  return async (name, caller, earlier, told) => {
    const find = (): Promise<Host> => serverOfZone(options, name, caller)
    // One query of the root serves all names of a zone.
    const zone = WHOIS_ZONES.get(name.suffix)
    const host: Host =
      zone !== undefined
        ? { kind: 'host', host: zone }
        : await (caller.lane === 'live' ? find() : shared(name.tld, caller.signal, find))
    if (host.kind === 'later') return host
    if (host.kind !== 'host') return unknownAfter(host.fault, earlier, host.kind === 'failed')
    const server = `whois:${host.host}`
    const limited = await options.rateLimiter.run(server, caller, async () => {
      const value = await askServer(options, host.host, name, caller)
      return { value, result: resultOf(value, name) }
    })
    const wait = laterOf(limited, caller, server)
    if (wait !== null) return wait
    if (limited.kind !== 'done') {
      const throttled = limited.kind === 'paused' && limited.why === 'throttled'
      return unknownAfter(`${server}: ${limited.kind}`, { ...earlier, throttled }, true)
    }
    const reply = limited.value
    if (reply.kind === 'failed') return unknownAfter(`${server}: ${reply.fault}`, earlier, true)
    if (reply.record.throttled) {
      if (caller.lane === 'bulk') return laterAfterThrottle(server, null, isOfAll(reply))
      return unknownAfter(`${server}: throttled`, { ...earlier, throttled: true }, true)
    }
    if (reply.record.registered === null) {
      return unknownAfter(`${server}: a reply that says nothing of the name`, earlier, true)
    }
    const { record } = reply
    const known = registrationOf(record, host.host, name)
    const registrar = registrarFor(record, host.host)
    if (registrar === null) return fromServer(known)
    told?.(fromServer(known))
    const more = await askRegistrar(options, registrar, name, caller)
    if (more === null) return { ...fromServer(known), isPartial: true }
    return fromServer(more.registered === true ? completed(known, more) : known)
  }
}

type Reply =
  | { readonly kind: 'record'; readonly record: WhoisRecord; readonly isBlank: boolean }
  | Extract<WhoisAnswer, { kind: 'failed' }>

async function askServer(
  options: WhoisLookupOptions,
  host: string,
  name: DomainName,
  caller: RegistryCaller,
): Promise<Reply> {
  const query = whoisQuery(host, name.registrable)
  const answer = await askWhois(host, query, options.whois, caller.signal)
  if (answer.kind === 'failed') return answer
  const record = parseWhois(answer.text, { tld: name.suffix, domain: name.registrable })
  return { kind: 'record', record, isBlank: answer.text.trim() === '' }
}

function resultOf(reply: Reply, name: DomainName): QueryResult {
  if (reply.kind === 'record') {
    if (!reply.record.throttled) return { kind: 'answered' }
    return isOfAll(reply)
      ? { kind: 'throttled', retryMs: null }
      : { kind: 'refused', name: name.registrable }
  }
  return { kind: reply.busy ? 'silent' : 'answered' }
}

// Some close the connection on too many queries, and some to say that a name is free.
function isOfAll({ record, isBlank }: Extract<Reply, { kind: 'record' }>): boolean {
  return record.isSure && !isBlank
}

type Host =
  | Extract<LookupResult, { kind: 'later' }>
  | { readonly kind: 'host'; readonly host: string }
  | { readonly kind: 'none' | 'failed'; readonly fault: string }

async function serverOfZone(
  options: WhoisLookupOptions,
  name: DomainName,
  caller: RegistryCaller,
): Promise<Host> {
  const key = `domain:whois-server:${name.tld}`
  const [held] = await options.memory.get([key])
  if (typeof held === 'string') return hostOf(held, name)
  const root = options.whois.root
  const limited = await options.rateLimiter.run(`whois:${root}`, caller, async () => {
    const value = await askWhois(root, name.tld, options.whois, caller.signal)
    const silent = value.kind === 'failed' && value.busy
    return { value, result: { kind: silent ? 'silent' : 'answered' } as const }
  })
  const wait = laterOf(limited, caller, `whois:${root}`)
  if (wait?.kind === 'later') return wait
  if (limited.kind !== 'done') return { kind: 'failed', fault: `whois:${root}: ${limited.kind}` }
  if (limited.value.kind === 'failed') {
    return { kind: 'failed', fault: `whois:${root}: ${limited.value.fault}` }
  }
  const { referral, throttled } = readRoot(limited.value.text, name.tld)
  if (throttled) return { kind: 'failed', fault: `whois:${root}: throttled` }
  // The lines that are missing may name the server.
  if (referral === '' && !limited.value.isWhole) {
    return { kind: 'failed', fault: `whois:${root}: a reply that is cut` }
  }
  const ttlMs = referral === '' ? NO_SERVER_TTL_MS : SERVER_TTL_MS
  await options.memory.set([{ key, value: referral, ttlMs }])
  return hostOf(referral, name)
}

// IANA writes `refer:` for a query below a zone and `whois:` in the record of the zone.
function readRoot(text: string, domain: string): { referral: string; throttled: boolean } {
  const line = /^(?:refer|whois):[ \t]*(\S*)/im.exec(text)
  const host = line?.[1]?.toLowerCase() ?? ''
  const usable = isHost(host) ? host : ''
  return { referral: usable, throttled: usable === '' && parseWhois(text, { domain }).throttled }
}

function hostOf(host: string, name: DomainName): Host {
  if (host !== '') return { kind: 'host', host }
  return { kind: 'none', fault: `no WHOIS server is listed for ${name.tld}` }
}

/** The registrar's own server, if the registry's reply refers to it and lacks what it may have. */
function registrarFor(record: WhoisRecord, host: string): string | null {
  const { registered, registrar, created, expires } = record
  const referral = record.referral?.toLowerCase() ?? host
  const isLacking = registrar === null || created === null || expires === null
  return registered === true && isLacking && referral !== host && isHost(referral) ? referral : null
}

function registrationOf(record: WhoisRecord, host: string, name: DomainName): Registration {
  return {
    registered: record.registered,
    reason: record.registered === true ? 'registered' : 'unregistered',
    registrar: record.registrar,
    created: record.createdAt,
    expires: record.expiresAt,
    statuses: record.statuses.map(plainStatus),
    reserved: record.reserved,
    source: 'whois',
    server: host,
    exact: name.suffix === name.tld || WHOIS_ZONES.has(name.suffix),
    faults: [],
  }
}

function completed(known: Registration, more: WhoisRecord): Registration {
  return {
    ...known,
    registrar: known.registrar ?? more.registrar,
    created: known.created ?? more.createdAt,
    expires: known.expires ?? more.expiresAt,
  }
}

// A registrar's reply can only add to what the registry has reported. Null if it gave none.
async function askRegistrar(
  options: WhoisLookupOptions,
  host: string,
  name: DomainName,
  caller: RegistryCaller,
): Promise<WhoisRecord | null> {
  const limited = await options.rateLimiter.run(`whois:${host}`, caller, async () => {
    const value = await askServer(options, host, name, caller)
    return { value, result: resultOf(value, name) }
  })
  if (limited.kind !== 'done' || limited.value.kind !== 'record') return null
  return limited.value.record.throttled ? null : limited.value.record
}

function unknownAfter(fault: string, earlier: EarlierQueries, failed: boolean): LookupResult {
  const faults = [...earlier.faults, fault]
  if (earlier.throttled === true)
    return fromServer({ ...UNKNOWN, reason: 'registry_throttled', faults })
  const broken = failed || earlier.failed === true
  return fromServer({ ...UNKNOWN, reason: broken ? 'registry_failed' : 'no_registry_data', faults })
}
