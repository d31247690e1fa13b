import { domainToUnicode } from 'node:url'
import { createRandom } from './random.ts'
import type { Random } from './random.ts'
import { makeWorld } from './world.ts'
import type { World } from './world.ts'
import {
  BROKEN,
  digits,
  FIXED,
  fillAddress,
  MISSPELT,
  MOBILES,
  NETWORKS,
  NOT_PHONES,
} from './world/contact-parts.ts'
import type { Domain } from './world/domain.ts'
import { mailboxState } from './world/mailbox.ts'
import type { MailboxState } from './world/mailbox.ts'
import { FAMILY_NAMES, GIVEN_NAMES, ROLE_NAMES, UTF8_NAMES } from './world/names.ts'

/** A table of contacts, such as a customer exports. */
export interface Contacts {
  readonly header: readonly string[]
  /** Each row has as many cells as the header. */
  readonly rows: readonly (readonly string[])[]
}

/** Columns of the table. */
export const CONTACT_HEADER = [
  'First Name',
  'Last Name',
  'E-mail',
  'Phone',
  'IP address',
  'Company domain',
] as const

/** Numbers of rows per thousand, by kind of email address. */
const SHARES: readonly (readonly [kind: Source, perMille: number])[] = [
  ['company', 655],
  ['tenant', 30],
  ['consumer', 75],
  ['misspelt', 35],
  ['disposable', 35],
  ['accept-all', 40],
  ['role', 30],
  ['broken', 20],
  ['no-mail', 16],
  ['dead', 12],
  ['refusing', 10],
  ['waiting', 6],
  ['slow', 3],
  ['repeat', 25],
  ['blank', 8],
  ['international', 10],
]

type Source =
  | 'company'
  | 'tenant'
  | 'consumer'
  | 'misspelt'
  | 'disposable'
  | 'accept-all'
  | 'role'
  | 'broken'
  | 'no-mail'
  | 'dead'
  | 'refusing'
  | 'waiting'
  | 'slow'
  | 'repeat'
  | 'blank'
  | 'international'

/** Kinds of domain (`Domain.kind`) for each kind of row. */
const KINDS_OF: Readonly<
  Record<Exclude<Source, 'repeat' | 'blank' | 'misspelt'>, readonly string[]>
> = {
  company: [
    'plain',
    'exim',
    'exchange',
    'hosted',
    'no-pipelining',
    'no-utf8',
    'helo-only',
    'no-tls',
    'implicit-mx',
    'first-mx-dead',
    'tls-required',
  ],
  tenant: ['google-workspace', 'microsoft365', 'proofpoint', 'barracuda', 'trendmicro'],
  consumer: ['google', 'outlook', 'yahoo', 'icloud', 'gmx'],
  disposable: ['disposable'],
  'accept-all': ['accept-all'],
  role: ['plain', 'exim', 'exchange'],
  broken: ['plain', 'google'],
  'no-mail': ['null-mx', 'no-mail', 'parked'],
  dead: ['unregistered', 'registered-undelegated', 'status:client-hold', 'all-mx-dead'],
  refusing: ['blocked-banner', 'blocked-ehlo', 'blocked-mail', 'blocked-rcpt', 'blanket-reject'],
  waiting: ['greylist', 'greylist-exim', 'mimecast'],
  slow: ['slow-banner'],
  international: ['international'],
}

/** Most names of one registry in the domain column, so that a batch does not wait for a slow registry. */
const NAMES_OF_A_REGISTRY = 14

/**
 * Contacts of mixed quality over the world of a seed; the same seed and count make the same file.
 */
export function makeContacts(options: { readonly seed: number; readonly count: number }): Contacts {
  const world = makeWorld({ seed: options.seed })
  const random = createRandom(options.seed, 'contacts')
  const pools = poolsOf(world)
  const companies = createDomainColumn(world, random)
  const rows: string[][] = []
  while (rows.length < options.count) {
    const source = drawSource(random)
    if (source === 'blank') {
      rows.push(CONTACT_HEADER.map(() => ''))
      continue
    }
    if (source === 'repeat') {
      const earlier = rows.length === 0 ? undefined : random.pick(rows)
      if (earlier !== undefined) rows.push([...earlier])
      continue
    }
    const given = source === 'international' ? random.pick(UTF8_NAMES) : random.pick(GIVEN_NAMES)
    const family = random.pick(FAMILY_NAMES)
    const domain = source === 'misspelt' ? undefined : random.pick(pools.get(source) ?? [])
    const email = emailOf(world, random, source, domain, given, family)
    rows.push([title(given), title(family), email, phone(random), ip(random), companies(domain)])
  }
  return { header: CONTACT_HEADER, rows }
}

function drawSource(random: Random): Source {
  const total = SHARES.reduce((sum, [, share]) => sum + share, 0)
  let left = random.int(total)
  for (const [kind, share] of SHARES) {
    left -= share
    if (left < 0) return kind
  }
  return 'company'
}

/** Most domains that share a mail host, so that a batch does not wait for the limits of a host. */
const DOMAINS_OF_A_HOST = 4

function poolsOf(world: World): ReadonlyMap<Source, readonly Domain[]> {
  const pools = new Map<Source, Domain[]>()
  for (const [source, kinds] of Object.entries(KINDS_OF)) {
    const seen = new Map<string, number>()
    const pool = [...world.domains.values()].filter(({ kind, mail }) => {
      if (!kinds.includes(kind)) return false
      if (kind !== 'hosted' || mail.kind !== 'mx') return true
      const host = mail.exchanges[0]?.host ?? ''
      seen.set(host, (seen.get(host) ?? 0) + 1)
      return (seen.get(host) ?? 0) <= DOMAINS_OF_A_HOST
    })
    pools.set(source as Source, pool)
  }
  return pools
}

function emailOf(
  world: World,
  random: Random,
  source: Source,
  domain: Domain | undefined,
  given: string,
  family: string,
): string {
  if (domain === undefined) return `${given}.${family}@${random.pick(MISSPELT)}`
  if (source === 'broken')
    return random.pick(BROKEN).replace('%l', `${given}.${family}`).replace('%d', domain.name)
  if (source === 'role') return varied(random, random.pick(ROLE_NAMES), domain.name)
  const wanted = wantedState(random)
  const ignoreDots = domain.kind === 'google'
  const forms = [
    `${given}.${family}`,
    `${given.slice(0, 1)}${family}`,
    given,
    `${given}_${family}`,
    `${given}${family}`,
  ]
  for (let year = 60; year < 99; year++) forms.push(`${given}.${family}${year}`)
  const found = forms.find(
    (local) => mailboxState(world.seed, local, domain.name, ignoreDots) === wanted,
  )
  const name = source === 'international' ? domainToUnicode(domain.name) : domain.name
  return varied(random, found ?? `${given}.${family}`, name)
}

function wantedState(random: Random): MailboxState {
  const x = random.int(100)
  if (x < 82) return 'exists'
  if (x < 95) return 'missing'
  return x < 98 ? 'full' : 'disabled'
}

/** Adds capitals, tags and blanks, as in real exports. */
function varied(random: Random, local: string, domain: string): string {
  const address = `${local}@${domain}`
  const x = random.int(100)
  if (x < 5) return `${title(local)}@${domain}`
  if (x < 7) return address.toUpperCase()
  if (x < 9) return `${local}+news@${domain}`
  return x < 11 ? ` ${address} ` : address
}

/** A random number; a German one may be in national format, since the batch has that default country. */
function phone(random: Random): string {
  const x = random.int(100)
  if (x < 25) return ''
  if (x < 28) return random.pick(NOT_PHONES)
  if (x < 36) return random.pick(FIXED) + digits(3, random)
  if (x < 46) return `0${random.pick(MOBILES[1].first)} ${digits(7, random)}`
  const country = random.pick(MOBILES)
  const national = random.pick(country.first) + digits(country.rest, random)
  if (x < 56) return `+${country.code} ${national.slice(0, 3)} ${national.slice(3)}`
  if (x < 60) return `00${country.code}${national}`
  return `+${country.code}${national}`
}

function ip(random: Random): string {
  const x = random.int(100)
  if (x < 15) return ''
  if (x < 67) return fillAddress(random.pick(NETWORKS.household), random)
  if (x < 79) return fillAddress(random.pick(NETWORKS.cloud), random)
  if (x < 83) return fillAddress(random.pick(NETWORKS.tor), random)
  if (x < 88) return fillAddress(random.pick(NETWORKS.vpn), random)
  if (x < 93) return random.pick(NETWORKS.known)
  return x < 98 ? random.pick(NETWORKS.special) : random.pick(NETWORKS.malformed)
}

/**
 * The company domain of a contact: often that of the address, otherwise one of any age and state.
 */
function createDomainColumn(world: World, random: Random): (own: Domain | undefined) => string {
  const taken = new Map<string, Set<string>>()
  const aged = [...world.domains.values()].filter(({ kind }) =>
    /^(age-|status:|parked|unregistered|lame|registered)/.test(kind),
  )
  const admit = (name: string): boolean => {
    const zone = name.slice(name.lastIndexOf('.') + 1)
    const names = taken.get(zone) ?? new Set()
    if (!names.has(name) && names.size >= NAMES_OF_A_REGISTRY) return false
    taken.set(zone, names.add(name))
    return true
  }
  return (own) => {
    const x = random.int(100)
    if (x < 20) return ''
    if (x < 22)
      return random.pick(['n/a', 'https://www.example.com/about', 'not a domain', '192.0.2.1'])
    if (own !== undefined && x < 62 && admit(own.name)) return own.name
    const other = random.pick(aged)
    if (!admit(other.name)) return ''
    return x > 94 ? `www.${other.name}` : other.name
  }
}

function title(name: string): string {
  return name.slice(0, 1).toUpperCase() + name.slice(1)
}
