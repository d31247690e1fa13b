import type { WorldTable } from './table.ts'
import { DAY_MS } from './builder.ts'
import type { Domain } from './domain.ts'
import { phoneOf } from './phones.ts'
import type { PhoneState } from './phones.ts'
import type { Registry } from './registries.ts'

/** The true state of a number at the HLR. */
export interface ExpectedPhone {
  readonly state: PhoneState
  /** Null if the network cannot tell. */
  readonly reachable: boolean | null
  readonly carrier: string | null
  readonly carrierCountry: string | null
  readonly ported: boolean | null
  readonly roaming: boolean | null
  /** Whether the first query gets a temporary refusal; the second is answered. */
  readonly throttledOnce: boolean
}

/** The state of an E.164 number at the HLR of a world. */
export function expectPhone(world: WorldTable, number: string): ExpectedPhone {
  const phone = phoneOf(world.seed, number)
  const known = phone.state === 'connected' || phone.state === 'absent'
  return {
    state: phone.state,
    reachable: phone.state === 'undetermined' ? null : phone.state === 'connected',
    carrier: known ? (phone.ported ?? phone.original).name : null,
    carrierCountry: known ? phone.countryName : null,
    ported: known ? phone.ported !== undefined : null,
    roaming: known ? phone.roaming !== undefined : null,
    throttledOnce: phone.throttledOnce,
  }
}

/** The facts of a name that registries and name servers show. */
export interface ExpectedDomain {
  /** Null if no registry gives a usable reply. */
  readonly registered: boolean | null
  readonly registrar: string | null
  /** In ISO 8601; only the day if the registry publishes no more. */
  readonly createdDate: string | null
  readonly expiryDate: string | null
  readonly ageDays: number | null
  /** Null if the name servers fail or give faulty replies: then these facts are not checked. */
  readonly dnsHealthy: boolean | null
  readonly mxFound: boolean | null
  readonly spfFound: boolean | null
  readonly dmarcFound: boolean | null
  readonly disposable: boolean
  readonly parked: boolean | null
}

/** The expected facts of a name: the registration of its registrable domain, and its own DNS records. */
export function expectDomain(world: WorldTable, name: string): ExpectedDomain {
  const own = world.findDomain(name)
  const holder = own ?? above(world, name)
  const registry = world.registries.find(({ tlds }) =>
    tlds.includes(name.slice(name.lastIndexOf('.') + 1)),
  )
  return {
    ...registrationFacts(world, registry, holder),
    ...dnsFacts(world, name, own),
    disposable: holder?.disposable === true,
    parked: holder?.dnsFault === undefined ? holder?.parked === true : null,
  }
}

function registrationFacts(
  world: WorldTable,
  registry: Registry | undefined,
  holder: Domain | undefined,
): Pick<ExpectedDomain, 'registered' | 'registrar' | 'createdDate' | 'expiryDate' | 'ageDays'> {
  const nothing = { registrar: null, createdDate: null, expiryDate: null, ageDays: null }
  const failing =
    registry === undefined || (registry.rdap?.fault ?? registry.whois?.fault) !== undefined
  if (failing) return { ...nothing, registered: null }
  const registration = holder?.registration ?? null
  if (registration === null) return { ...nothing, registered: false }
  const hides = registry.hides ?? []
  const createdMs = Date.parse(registration.createdAt)
  const hidden = hides.includes('created')
  return {
    registered: !registration.statuses.some((status) => LAPSED.has(status)),
    registrar: hides.includes('registrar') ? null : registration.registrar,
    createdDate: hidden ? null : registration.createdAt,
    expiryDate: hides.includes('expires') ? null : registration.expiresAt,
    ageDays: hidden
      ? null
      : Math.floor((world.todayMs - (createdMs - (createdMs % DAY_MS))) / DAY_MS),
  }
}

/** Statuses of names whose registration is no longer active. */
const LAPSED: ReadonlySet<string> = new Set(['redemption period', 'pending delete'])

/** The facts of a name that does not exist. */
const NOTHING = { dnsHealthy: false, mxFound: false, spfFound: false, dmarcFound: false } as const

function dnsFacts(
  world: WorldTable,
  name: string,
  own: Domain | undefined,
): Pick<ExpectedDomain, 'dnsHealthy' | 'mxFound' | 'spfFound' | 'dmarcFound'> {
  if (own === undefined) {
    const holder = above(world, name)
    if (holder === undefined || holder.undelegated === true) return NOTHING
    const resolves = holder.wildcard === true || name === `www.${holder.name}`
    const dnsHealthy = resolves && holder.address !== undefined
    return { ...NOTHING, dnsHealthy, dmarcFound: holder.dmarc.length > 0 }
  }
  if (own.dnsFault !== undefined)
    return { dnsHealthy: null, mxFound: null, spfFound: null, dmarcFound: null }
  if (own.undelegated === true) return NOTHING
  return {
    dnsHealthy: own.address !== undefined || own.mail.kind === 'mx' || own.mail.kind === 'implicit',
    mxFound: own.mail.kind === 'mx',
    spfFound: own.spf.length > 0,
    dmarcFound: own.dmarc.length > 0,
  }
}

function above(world: WorldTable, name: string): Domain | undefined {
  for (let dot = name.indexOf('.'); dot >= 0; dot = name.indexOf('.', dot + 1)) {
    const found = world.findDomain(name.slice(dot + 1))
    if (found !== undefined) return found
  }
  return undefined
}
