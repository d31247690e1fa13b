import type { Memory } from '@plumbline/ports/engine'
import type { Json } from '@plumbline/contract/outcome'
import { createFlights } from './single-flight.ts'
import type { Manners, Turn } from './registry-rate-limiter.ts'
import type { DomainName } from './name.ts'
import { rdapInstant } from './rdap-parse.ts'
import { askRdap } from './rdap.ts'
import type { RdapAnswer, RdapNet } from './rdap.ts'
import type { RdapBase, RdapBootstrap } from './rdap-bootstrap.ts'
import { UNKNOWN, known, laterOf, throttledLater } from './registration.ts'
import type { Finding, Registration } from './registration.ts'
import type { Mood } from './registry-server.ts'
import { createWhoisLookup } from './whois-lookup.ts'
import type { WhoisNet } from './whois.ts'
import { momentFor, nameFor, type Sharing } from '@plumbline/ports/sharing'

/** Tells registrations. */
export interface Registry {
  /** The account is told what another found out by the day, or not at all where accounts are apart. */
  lookUp(name: DomainName, turn: Turn, account: string): Promise<Finding>
}

/** What the lookup of registrations needs. */
export interface RegistryOptions extends Sharing {
  readonly bootstrap: RdapBootstrap
  readonly manners: Manners
  readonly memory: Memory
  readonly clock: () => Date
  readonly rdap: RdapNet
  readonly whois: WhoisNet & { readonly root: string }
}

const POSITIVE_TTL_MS = 24 * 3_600_000
const NEGATIVE_TTL_MS = 3_600_000

/**
 * Makes the lookup of registrations: memory, then RDAP where the zone has it, then WHOIS. Answers that
 * say something are kept, positive ones a day and denials an hour; what is unknown is not. Parts of a
 * list that run at the same time and hold the same name ask for it once.
 */
export function createRegistry(options: RegistryOptions): Registry {
  const whois = createWhoisLookup(options)
  const flights = createFlights<Finding>()
  return {
    async lookUp(name, turn, account) {
      const key = nameFor(`domain:registration:${name.registrable}`, account, options)
      const lookUp = (): Promise<Finding> => lookUpOne(options, whois, { key, account }, name, turn)
      // A single call does not stand where a list stands in the queue, and settles for less than a list.
      return turn.lane === 'live' ? lookUp() : flights(key, turn.signal, lookUp)
    },
  }
}

async function lookUpOne(
  options: RegistryOptions,
  whois: Whois,
  { key, account }: { readonly key: string; readonly account: string },
  name: DomainName,
  turn: Turn,
): Promise<Finding> {
  const [held] = await options.memory.get([key])
  const kept = held === undefined ? null : fromMemory(held, account)
  if (kept !== null) return kept
  const finding = await overRdap(options, name, turn, whois)
  if (finding.kind === 'registration' && finding.registration.registered !== null) {
    const ttlMs = finding.registration.registered ? POSITIVE_TTL_MS : NEGATIVE_TTL_MS
    const atMs = options.clock().getTime()
    const value = { ...finding.registration, atMs, by: account }
    await options.memory.set([{ key, value, ttlMs }])
  }
  return finding
}

type Whois = ReturnType<typeof createWhoisLookup>

async function overRdap(
  options: RegistryOptions,
  name: DomainName,
  turn: Turn,
  whois: Whois,
): Promise<Finding> {
  const base = await options.bootstrap.baseOf(name.registrable, turn.signal)
  if (base === null) return whois(name, turn, { faults: ['no RDAP server is listed'] })
  const server = `rdap:${new URL(base.url).hostname}`
  const turned = await options.manners.take(server, turn, async () => {
    const value = await askRdap(base, name.registrable, options.rdap, turn.signal)
    return { value, mood: moodOf(value) }
  })
  const wait = laterOf(turned, turn, server)
  if (wait !== null) return wait
  const throttled = turned.kind === 'paused' && turned.why === 'throttled'
  if (turned.kind !== 'done')
    return whois(name, turn, { throttled, faults: [`${server}: ${turned.kind}`] })
  const answer = turned.value
  switch (answer.kind) {
    case 'found':
      return known(fromRdap(answer, base, name))
    case 'absent':
      return known({
        ...UNKNOWN,
        registered: false,
        reason: 'unregistered',
        source: 'rdap',
        server: answer.server,
        exact: base.suffix === name.suffix,
      })
    case 'throttled':
      if (turn.lane === 'bulk') return throttledLater(server, answer.retryMs)
      return whois(name, turn, { throttled: true, faults: [`${server}: throttled`] })
    case 'failed':
      return whois(name, turn, { failed: true, faults: [`${server}: ${answer.fault}`] })
  }
}

function moodOf(answer: RdapAnswer): Mood {
  if (answer.kind === 'throttled') {
    return answer.isSure ? { kind: 'throttled', retryMs: answer.retryMs } : { kind: 'refused' }
  }
  return { kind: answer.kind === 'failed' && answer.busy ? 'silent' : 'fine' }
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

/** Safe: only this module writes under its keys, and the fields it judges by are checked. */
function fromMemory(held: Json, account: string): Finding | null {
  if (typeof held !== 'object' || held === null || Array.isArray(held)) return null
  if (!('registered' in held) || typeof held['registered'] !== 'boolean') return null
  const { atMs, by, ...registration } = held
  const finder = typeof by === 'string' ? by : undefined
  return {
    kind: 'registration',
    registration: { ...UNKNOWN, ...registration },
    cached: true,
    // What an earlier version kept has none.
    ...(typeof atMs === 'number' ? { atMs: momentFor(atMs, finder, account) } : {}),
  }
}
