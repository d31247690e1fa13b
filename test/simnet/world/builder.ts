import { at, createRandom, hashFraction } from '../random.ts'
import type { Random } from '../random.ts'
import type { Profile } from '../smtp/profile.ts'
import type { Domain, MailHost, Registration } from './domain.ts'
import { COMPANY_WORDS } from './names.ts'
import { REGISTRARS } from './registries.ts'

/** Milliseconds of a UTC day. */
export const DAY_MS = 86_400_000

/** Collects the parts of a world. */
export interface Builder {
  readonly seed: number
  /** Start of the UTC day from which ages are counted, in ms since the Unix epoch. */
  readonly todayMs: number
  readonly domains: Map<string, Domain>
  readonly hosts: Map<string, MailHost>
  readonly random: Random
  /** A mail host at its own loopback address; the existing one if the name is known. */
  host(name: string, profile?: Profile): MailHost
  /** A company name under a zone, returned only once. */
  company(zone?: string): string
  registration(name: string, ageDays: number, statuses?: readonly string[]): Registration
  add(domain: Partial<Domain> & Pick<Domain, 'name' | 'kind' | 'mail'>): Domain
}

/** Zones of companies, repeated according to their share. */
const ZONES = [
  'com',
  'com',
  'com',
  'com',
  'com',
  'net',
  'net',
  'org',
  'org',
  'info',
  'dev',
  'app',
  'co.uk',
  'co.uk',
  'fr',
  'ie',
  'com.br',
  'xyz',
  'online',
  'de',
  'de',
  'it',
  'be',
  'jp',
  'ru',
  'eu',
  'se',
  'pl',
  'io',
] as const

/** An empty world. */
export function createBuilder(seed: number, nowMs: number): Builder {
  const random = createRandom(seed, 'world')
  const todayMs = nowMs - (nowMs % DAY_MS)
  const domains = new Map<string, Domain>()
  const hosts = new Map<string, MailHost>()
  const taken = new Set<string>()
  const registration = (name: string, ageDays: number, statuses = ['active']): Registration =>
    registrationOf(seed, todayMs, name, ageDays, statuses)
  return {
    seed,
    todayMs,
    domains,
    hosts,
    random,
    host: (name, profile) => {
      const known = hosts.get(name)
      if (known !== undefined) return known
      const address = loopback(10, hosts.size)
      const host = profile === undefined ? { name, address } : { name, address, profile }
      hosts.set(name, host)
      return host
    },
    company: (zone) => {
      for (;;) {
        const { first, second, third } = COMPANY_WORDS
        const label = `${random.pick(first)}${random.pick(second)}${random.pick(third)}`
        if (taken.has(label)) continue
        taken.add(label)
        return `${label}.${zone ?? random.pick(ZONES)}`
      }
    },
    registration: (name, ageDays, statuses) =>
      registration(name, ageDays, [...(statuses ?? ['active'])]),
    add: (given) => {
      const ageDays = 400 + Math.floor(hashFraction(seed, `age:${given.name}`) * 7000)
      const domain: Domain = {
        address: loopback(20, Math.floor(hashFraction(seed, `web:${given.name}`) * 60_000)),
        nameServers: ['ns1.simdns.net', 'ns2.simdns.net'],
        spf: ['v=spf1 mx -all'],
        dmarc: ['v=DMARC1; p=quarantine; rua=mailto:dmarc@simdns.net'],
        registration: registration(given.name, ageDays),
        ...given,
      }
      domains.set(domain.name, domain)
      return domain
    },
  }
}

/** The n-th usable address of 127.`net`.0.0/16: never ends in 0 or 255. */
export function loopback(net: number, n: number): string {
  return `127.${net}.${Math.floor(n / 254) % 256}.${(n % 254) + 1}`
}

function registrationOf(
  seed: number,
  todayMs: number,
  name: string,
  ageDays: number,
  statuses: readonly string[],
): Registration {
  const [registrar] = at(
    REGISTRARS,
    Math.floor(hashFraction(seed, `registrar:${name}`) * REGISTRARS.length),
  )
  const secondOfDay = Math.floor(hashFraction(seed, `hour:${name}`) * 86_400)
  const createdMs = todayMs - ageDays * DAY_MS + (ageDays === 0 ? 0 : secondOfDay * 1000)
  const created = new Date(createdMs)
  const expires = new Date(createdMs)
  const aheadYears = 1 + Math.floor(hashFraction(seed, `years:${name}`) * 3)
  expires.setUTCFullYear(new Date(todayMs).getUTCFullYear() + aheadYears)
  return {
    registrar,
    createdAt: created.toISOString().replace('.000Z', 'Z'),
    expiresAt: expires.toISOString().replace('.000Z', 'Z'),
    statuses,
  }
}
