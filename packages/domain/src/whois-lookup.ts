import { createFlights } from './single-flight.ts'
import type { Turn } from './registry-rate-limiter.ts'
import type { DomainName } from './name.ts'
import { UNKNOWN, known, laterOf, throttledLater } from './registration.ts'
import type { Finding, Registration } from './registration.ts'
import type { RegistryOptions } from './registry.ts'
import type { Mood } from './registry-server.ts'
import { parseWhois } from './whois-parse.ts'
import type { WhoisRecord } from './whois-parse.ts'
import { WHOIS_ZONES, whoisQuery } from './whois-servers.ts'
import { askWhois, isHost } from './whois.ts'
import type { WhoisAnswer } from './whois.ts'

/** What was met before WHOIS was asked. */
export interface Before {
  readonly throttled?: boolean
  readonly failed?: boolean
  readonly faults: readonly string[]
}

const SERVER_TTL_MS = 7 * 24 * 3_600_000
const NO_SERVER_TTL_MS = 24 * 3_600_000

/**
 * Makes the lookup over port 43: the root server names the registry's, the registry answers, and where
 * the registrar or the date is missing the registrar's own server is asked once.
 */
export function createWhoisLookup(
  options: RegistryOptions,
): (name: DomainName, turn: Turn, before: Before) => Promise<Finding> {
  const flights = createFlights<Host>()
  return async (name, turn, before) => {
    const find = (): Promise<Host> => serverOfZone(options, name, turn)
    // A list of one zone asks the root once, not once for each name.
    const zone = WHOIS_ZONES.get(name.suffix)
    const host: Host =
      zone !== undefined
        ? { kind: 'host', host: zone }
        : await (turn.lane === 'live' ? find() : flights(name.tld, turn.signal, find))
    if (host.kind === 'later') return host
    if (host.kind !== 'host') return without(host.fault, before, host.kind === 'failed')
    const server = `whois:${host.host}`
    const turned = await options.manners.take(server, turn, async () => {
      const value = await askServer(options, host.host, name, turn)
      return { value, mood: moodOf(value) }
    })
    const wait = laterOf(turned, turn, server)
    if (wait !== null) return wait
    if (turned.kind !== 'done') {
      const throttled = turned.kind === 'paused' && turned.why === 'throttled'
      return without(`${server}: ${turned.kind}`, { ...before, throttled }, true)
    }
    const reply = turned.value
    if (reply.kind === 'failed') return without(`${server}: ${reply.fault}`, before, true)
    if (reply.record.throttled) {
      if (turn.lane === 'bulk') return throttledLater(server, null)
      return without(`${server}: throttled`, { ...before, throttled: true }, true)
    }
    if (reply.record.registered === null) {
      return without(`${server}: a reply that says nothing of the name`, before, true)
    }
    return known(await completed(options, host.host, name, turn, reply.record))
  }
}

type Reply =
  | { readonly kind: 'record'; readonly record: WhoisRecord; readonly isBlank: boolean }
  | Extract<WhoisAnswer, { kind: 'failed' }>

async function askServer(
  options: RegistryOptions,
  host: string,
  name: DomainName,
  turn: Turn,
): Promise<Reply> {
  const query = whoisQuery(host, name.registrable)
  const answer = await askWhois(host, query, options.whois, turn.signal)
  if (answer.kind === 'failed') return answer
  const hints = { tld: name.suffix, server: host, domain: name.registrable }
  const isBlank = answer.text.trim() === ''
  return { kind: 'record', record: parseWhois(answer.text, hints), isBlank }
}

function moodOf(reply: Reply): Mood {
  if (reply.kind === 'record') {
    if (!reply.record.throttled) return { kind: 'fine' }
    // Some hang up on who asks too much, and some say so that a name is free.
    return reply.isBlank ? { kind: 'refused' } : { kind: 'throttled', retryMs: null }
  }
  return { kind: reply.busy ? 'silent' : 'fine' }
}

type Host =
  | Extract<Finding, { kind: 'later' }>
  | { readonly kind: 'host'; readonly host: string }
  | { readonly kind: 'none' | 'failed'; readonly fault: string }

async function serverOfZone(options: RegistryOptions, name: DomainName, turn: Turn): Promise<Host> {
  const key = `domain:whois-server:${name.tld}`
  const [held] = await options.memory.get([key])
  if (typeof held === 'string') return hostOf(held, name)
  const root = options.whois.root
  const turned = await options.manners.take(`whois:${root}`, turn, async () => {
    const value = await askWhois(root, name.tld, options.whois, turn.signal)
    const silent = value.kind === 'failed' && value.busy
    return { value, mood: { kind: silent ? 'silent' : 'fine' } as const }
  })
  const wait = laterOf(turned, turn, `whois:${root}`)
  if (wait?.kind === 'later') return wait
  if (turned.kind !== 'done') return { kind: 'failed', fault: `whois:${root}: ${turned.kind}` }
  if (turned.value.kind === 'failed') {
    return { kind: 'failed', fault: `whois:${root}: ${turned.value.fault}` }
  }
  const { referral, throttled } = readRoot(turned.value.text)
  if (throttled) return { kind: 'failed', fault: `whois:${root}: throttled` }
  const ttlMs = referral === '' ? NO_SERVER_TTL_MS : SERVER_TTL_MS
  await options.memory.set([{ key, value: referral, ttlMs }])
  return hostOf(referral, name)
}

// IANA writes `refer:` for a query below a zone and `whois:` in the record of the zone.
function readRoot(text: string): { referral: string; throttled: boolean } {
  const line = /^(?:refer|whois):[ \t]*(\S*)/im.exec(text)
  const host = line?.[1]?.toLowerCase() ?? ''
  const usable = isHost(host) ? host : ''
  return { referral: usable, throttled: usable === '' && parseWhois(text).throttled }
}

function hostOf(host: string, name: DomainName): Host {
  if (host !== '') return { kind: 'host', host }
  return { kind: 'none', fault: `no WHOIS server is listed for ${name.tld}` }
}

async function completed(
  options: RegistryOptions,
  host: string,
  name: DomainName,
  turn: Turn,
  record: WhoisRecord,
): Promise<Registration> {
  const { referral } = record
  const lacking = record.registrar === null || record.created === null || record.expires === null
  const follow =
    record.registered === true &&
    lacking &&
    referral !== null &&
    referral.toLowerCase() !== host &&
    isHost(referral)
  const more = follow ? await askRegistrar(options, referral.toLowerCase(), name, turn) : null
  return {
    registered: record.registered,
    reason: record.registered === true ? 'registered' : 'unregistered',
    registrar: record.registrar ?? more?.registrar ?? null,
    created: record.createdAt ?? more?.createdAt ?? null,
    expires: record.expiresAt ?? more?.expiresAt ?? null,
    statuses: record.statuses.map(plainStatus),
    reserved: record.reserved,
    source: 'whois',
    server: host,
    exact: name.suffix === name.tld || WHOIS_ZONES.has(name.suffix),
    faults: [],
  }
}

// What a registrar says of a name that its registry knows can only add to it.
async function askRegistrar(
  options: RegistryOptions,
  host: string,
  name: DomainName,
  turn: Turn,
): Promise<WhoisRecord | null> {
  const turned = await options.manners.take(`whois:${host}`, turn, async () => {
    const value = await askServer(options, host, name, turn)
    return { value, mood: moodOf(value) }
  })
  if (turned.kind !== 'done' || turned.value.kind !== 'record') return null
  return turned.value.record.registered === true ? turned.value.record : null
}

// `clientTransferProhibited https://icann.org/epp#...` and `CLIENT-XFER-PROHIBITED` alike.
function plainStatus(status: string): string {
  return status
    .replace(/(?<!\s)\s*\(?https?:.*$/, '')
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .replace(/[-_\s]+/g, ' ')
    .trim()
    .toLowerCase()
}

function without(fault: string, before: Before, failed: boolean): Finding {
  const faults = [...before.faults, fault]
  if (before.throttled === true) return known({ ...UNKNOWN, reason: 'registry_throttled', faults })
  const broken = failed || before.failed === true
  return known({ ...UNKNOWN, reason: broken ? 'registry_failed' : 'no_registry_data', faults })
}
