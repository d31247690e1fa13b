import { existsSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import type { Engine, EngineRequest, Answer, Later } from '@plumbline/ports/engine'
import type { EmailFacts, FactsOf, Outcome } from '@plumbline/contract/outcome'
import type { Check } from '@plumbline/contract/products'

/** Options of the engines of tests and benchmarks. */
export interface InstantOptions {
  /**
   * Delay of each subject in milliseconds, like that of a network; `width` subjects of a run are
   * processed concurrently.
   */
  readonly delayMs?: number
  /** Concurrent subjects of one run, if there is a delay. */
  readonly width?: number
  /** Subjects that contain this text make the engine throw. */
  readonly poison?: string
  /** Whether subjects of batches may be postponed; `waitsOf` describes which. */
  readonly later?: boolean
  /** Subjects a second that the provider of a fifth of all subjects accepts; others must wait. */
  readonly slowPerSecond?: number
  /** Path of a file: while it exists, domains `awayN` and `apartN` get no reply; see `silenceOf`. */
  readonly silentWhile?: string
}

/**
 * An engine that answers from the subject alone: the same subject always gets the same facts, so
 * that batches and single calls can be compared. Outcomes are distributed by a hash of the subject.
 */
export function instantEngine<C extends Check>(check: C, options: InstantOptions = {}): Engine<C> {
  const { delayMs = 0, width = 50, poison, later = false, slowPerSecond, silentWhile } = options
  const slow = slowPerSecond === undefined ? undefined : createSlowProvider(slowPerSecond)
  const answer = (subject: string, request: EngineRequest<C>, at: number): Answer<C> => {
    if (poison !== undefined && subject.includes(poison)) throw new Error('poisoned subject')
    if (slow?.refuses(subject) === true) return NO_ROOM
    const silence = silentWhile === undefined ? undefined : silenceOf(subject, silentWhile)
    if (silence !== undefined && request.lane === 'bulk') return silence
    const waits = later && request.lane === 'bulk' ? waitsOf(subject) : undefined
    if (waits === undefined) return outcomeFor(check, subject)
    const tries = Number(request.states?.[at] ?? 0)
    return tries >= waits.times ? outcomeFor(check, subject) : { ...waits.later, state: tries + 1 }
  }
  const run = async (request: EngineRequest<C>): Promise<readonly Answer<C>[]> => {
    const { subjects, answered, signal } = request
    if (delayMs === 0) return subjects.map((subject, at) => answer(subject, request, at))
    const answers: Answer<C>[] = []
    for (let from = 0; from < subjects.length; from += width) {
      await wait(delayMs, undefined, { signal }).catch(() => {})
      for (const subject of subjects.slice(from, from + width)) {
        const last = answers.length
        const known = answer(subject, request, last)
        answers.push(known)
        answered?.(last, known, slow?.has(subject) === true ? NO_ROOM.group : undefined)
      }
    }
    return answers
  }
  return { check, run, health: async () => [], [Symbol.asyncDispose]: async () => {} }
}

const NO_ROOM = {
  kind: 'later',
  afterMs: 1_000,
  group: 'instant:slow',
  reason: 'rate_limited',
} as const satisfies Later

/** A provider of a fifth of all subjects that accepts this many a second, with a burst of two seconds. */
function createSlowProvider(perSecond: number): {
  has(subject: string): boolean
  refuses(subject: string): boolean
} {
  let room = 0
  let atMs = performance.now()
  const has = (subject: string): boolean => hash(subject) % 5 === 0
  return {
    has,
    refuses: (subject) => {
      if (!has(subject)) return false
      const nowMs = performance.now()
      room = Math.min(2 * perSecond, room + ((nowMs - atMs) * perSecond) / 1000)
      atMs = nowMs
      if (room < 1) return true
      room -= 1
      return false
    },
  }
}

/**
 * How a subject must wait: `busy2` in it waits twice for the limit of a group, `grey1` once for
 * greylisting; `@never` waits for ever.
 */
function waitsOf(subject: string): { times: number; later: Later } | undefined {
  const never = subject.indexOf('@never')
  if (never >= 0) return { times: Infinity, later: laterAt(subject.slice(never + 1)) }
  const [, word, times] = /(busy|grey)(\d+)/.exec(subject) ?? []
  if (word === undefined) return undefined
  const reason = word === 'grey' ? 'greylisted' : 'no_room'
  const group = `instant:${word}`
  const isOwnWait = word === 'grey'
  return { times: Number(times), later: { kind: 'later', afterMs: 150, group, isOwnWait, reason } }
}

/** A wait in a group of the domain's own, longer than a test. */
function laterAt(domain: string): Later {
  return { kind: 'later', afterMs: 3_600_000, group: `instant:${domain}`, reason: 'no_room' }
}

/** Milliseconds that the real engine waits after our resolver has failed. */
const SILENCE_MS = 30_000

/**
 * How a subject waits while the file exists: `x@away1.example` in one group with all others, as when our
 * resolver does not reply; `x@apart1.example` in a group of its domain.
 */
function silenceOf(subject: string, path: string): Later | undefined {
  const [, domain, word] = /@((away|apart)\S*)/.exec(subject) ?? []
  if (domain === undefined || !existsSync(path)) return undefined
  const group = word === 'away' ? 'silence:resolver' : `guard:${domain}`
  return { kind: 'later', afterMs: SILENCE_MS, group, reason: 'dns_unavailable' }
}

/** The outcome of an instant engine for a subject. */
export function outcomeFor<C extends Check>(check: C, subject: string): Outcome<C> {
  // Safe because FACTS is indexed by the same check.
  return FACTS[check](subject)
}

const FACTS: { readonly [C in Check]: (subject: string) => Outcome<C> } = {
  email: (address) => withSuggestion(emailOutcome(address)),
  phone: phoneOutcome,
  ip: ipOutcome,
  domain: domainOutcome,
}

function phoneOutcome(number: string): Outcome<'phone'> {
  const valid = number.length >= 9
  const mobile = hash(number) % 2 === 0
  return outcome('answered', valid ? 'no_hlr_provider' : 'impossible_number', {
    number,
    valid,
    reachable: null,
    country: valid ? 'United States' : null,
    countryCode: valid ? 'US' : null,
    nationalFormat: valid ? number.slice(2) : null,
    lineType: mobile ? 'mobile' : 'unknown',
    numberType: null,
    // A name that a CSV line must quote, and one that it must guard.
    carrier: mobile ? 'Example Mobile, Inc. "US"' : '=Example()',
    carrierCountry: null,
    ported: null,
    roaming: null,
  })
}

function ipOutcome(ip: string): Outcome<'ip'> {
  const valid = !/^(?:10|127|192\.168)\.|^fe80:/i.test(ip)
  const vpn = hash(ip) % 7 === 0
  return outcome('answered', valid ? 'located' : 'not_routable', {
    ip,
    valid,
    country: valid ? 'United States' : null,
    countryCode: valid ? 'US' : null,
    region: valid ? 'California' : null,
    city: valid ? 'Mountain View' : null,
    latitude: valid ? 37.4 : null,
    longitude: valid ? -122.1 : null,
    timezone: valid ? 'America/Los_Angeles' : null,
    isp: valid ? 'Example Networks' : null,
    asn: valid ? 'AS64500' : null,
    isVpn: valid ? vpn : null,
    isProxy: false,
    isTor: false,
    isDatacenter: false,
    isRelay: false,
    signals: vpn ? [{ group: 'ip.anonymity', code: 'vpn' }] : [],
  })
}

function domainOutcome(domain: string): Outcome<'domain'> {
  const known = !domain.toLowerCase().startsWith('unknown') && hash(domain.toLowerCase()) % 4 !== 0
  return outcome(known ? 'answered' : 'unknown', known ? 'registered' : 'registry_throttled', {
    domain,
    valid: known,
    registered: known ? true : null,
    registrar: known ? (domain === HOSTILE_DOMAIN ? HOSTILE_REPLY : 'Example Registrar') : null,
    createdDate: known ? '2001-01-01T00:00:00Z' : null,
    expiryDate: known ? '2031-01-01T00:00:00Z' : null,
    ageDays: known ? 9000 : null,
    dnsHealthy: true,
    mxFound: true,
    spfFound: true,
    dmarcFound: null,
    disposable: false,
    parked: false,
    signals: known ? [{ group: 'domain.dns', code: 'no_dmarc' }] : [],
  })
}

function emailOutcome(address: string): Outcome<'email'> {
  if (!/^[^@]+@[^@]+$/.test(address))
    return outcome('undeliverable', 'invalid_syntax', malformed(address))
  const domain = address.slice(address.lastIndexOf('@') + 1).toLowerCase()
  const kind = hash(address.slice(0, -domain.length) + domain) % 10
  const facts: EmailFacts = {
    address,
    normalized: address.toLowerCase(),
    domain,
    syntaxValid: true,
    mxFound: true,
    acceptsMail: true,
    smtpValid: kind === 9 ? null : kind < 6,
    mailbox: kind === 9 ? 'unknown' : kind < 6 ? 'accepted' : 'missing',
    catchAll: kind === 5,
    disposable: kind === 4,
    roleAccount: false,
    freeProvider: false,
    spamTrap: false,
    confidence: kind === 9 ? 'low' : 'high',
  }
  if (kind === 9) return outcome('unknown', 'timeout', facts)
  if (kind >= 6) return outcome('undeliverable', 'mailbox_not_found', facts)
  return kind >= 4
    ? outcome('risky', 'accept_all', facts)
    : outcome('deliverable', 'accepted', facts)
}

/** A domain whose mail server replies with `HOSTILE_REPLY`. */
export const HOSTILE_DOMAIN = 'spoken.example'
/** Text that would be harmful in a page: markup, a bidirectional control, a control character. */
export const HOSTILE_REPLY =
  '<img src=x onerror=window.pwned=1></td><script>window.pwned=1</script> \u202Egnp\u0007 محمد'

/** Adds the suggestion for the typo `gmial.com`, and the reply of the hostile domain. */
function withSuggestion(known: Outcome<'email'>): Outcome<'email'> {
  if (known.facts.domain === HOSTILE_DOMAIN) {
    return { ...known, evidence: { ...known.evidence, reply_text: HOSTILE_REPLY } }
  }
  if (known.facts.domain !== 'gmial.com') return known
  return { ...known, evidence: { ...known.evidence, did_you_mean: 'gmail.com' } }
}

function malformed(address: string): EmailFacts {
  return {
    address,
    normalized: address,
    domain: null,
    syntaxValid: false,
    mxFound: null,
    acceptsMail: null,
    smtpValid: null,
    mailbox: 'unknown',
    catchAll: null,
    disposable: false,
    roleAccount: false,
    freeProvider: false,
    spamTrap: false,
    confidence: 'high',
  }
}

function outcome<C extends Check>(
  status: Outcome<C>['status'],
  reason: Outcome<C>['reason'],
  facts: FactsOf[C],
): Outcome<C> {
  return {
    kind: 'outcome',
    status,
    reason,
    facts,
    evidence: { source: 'instant' },
    cached: false,
    checkedAt: '2026-01-01T00:00:00.000Z',
    durationMs: 0,
  }
}

function hash(text: string): number {
  let value = 2166136261
  for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 16777619)
  return value >>> 8
}
