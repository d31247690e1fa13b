import { createBulkRule } from './world/bulk.ts'
import type { BulkDomains } from './world/bulk.ts'
import { createBuilder, loopback } from './world/builder.ts'
import type { Depth } from '@plumbline/contract/products'
import { expectDomain, expectPhone } from './world/expect.ts'
import type { ExpectedDomain, ExpectedPhone } from './world/expect.ts'
import { expectEmail } from './world/expect-email.ts'
import type { ExpectedEmail } from './world/expect-email.ts'
import { addHostile, hostileRegistries } from './world/hostile.ts'
import { addMail } from './world/ordinary.ts'
import { addRegistrations } from './world/registrations.ts'
import { REGISTRAR_WHOIS, REGISTRIES } from './world/registries.ts'
import type { Registry } from './world/registries.ts'
import type { WorldTable } from './world/table.ts'
import type { Limits } from './smtp/profile.ts'

/** Options of a world; the same options give the same world. */
export interface WorldOptions {
  readonly seed: number
  /** The time from which ages are computed; default the present. */
  readonly nowMs?: number
  /** Limits of a provider's hosts by the provider's name (`google`, `outlook`, ...). */
  readonly limits?: Readonly<Record<string, Limits>>
  readonly bulkDomains?: BulkDomains
  /** Additional registries; one with the name of a default one replaces it. */
  readonly registries?: readonly Registry[]
  /**
   * The /24 of 127.53.0.0/16 with the name servers, 0 to 255; concurrent worlds need different ones.
   */
  readonly nameServerBlock?: number
}

/** A description of an internet, with the results that a perfect verifier would find. */
export interface World extends WorldTable {
  /** `depth` defaults to `extended`. */
  expectEmail(address: string, depth?: Depth): ExpectedEmail
  expectPhone(number: string): ExpectedPhone
  expectDomain(name: string): ExpectedDomain
}

/** Name servers of the world; the lame ones refuse every query. */
export const NAME_SERVERS = {
  serving: [
    'ns1.simdns.net',
    'ns2.simdns.net',
    'ns1.bodis.com',
    'ns2.bodis.com',
    'ns1.sedoparking.com',
    'ns2.sedoparking.com',
    'ns1.parkingcrew.net',
    'ns2.parkingcrew.net',
    'ns1.above.com',
    'ns2.above.com',
  ],
  lame: ['lame1.simdns.net', 'lame2.simdns.net'],
} as const

/** The host name of the verifier in every world. */
export const PROBER = 'verifier.simnet.example'

/** Makes the world of a seed. */
export function makeWorld(options: WorldOptions): World {
  const builder = createBuilder(options.seed, options.nowMs ?? Date.now())
  addMail(builder, options.limits ?? {})
  addRegistrations(builder)
  addInfrastructure(builder)
  addHostile(builder)
  const replaced = new Set(options.registries?.map((registry) => registry.name))
  const registries = [
    ...[...REGISTRIES, ...hostileRegistries()].filter(({ name }) => !replaced.has(name)),
    ...(options.registries ?? []),
  ]
  const services = serviceAddresses(registries, options.nameServerBlock ?? 0)
  const { domains, hosts } = builder
  const bulk =
    options.bulkDomains === undefined
      ? undefined
      : createBulkRule(options.bulkDomains, builder.todayMs)
  const table: WorldTable = {
    seed: options.seed,
    todayMs: builder.todayMs,
    domains,
    hosts,
    registries,
    services,
    bulk,
    findDomain: (name) => domains.get(name) ?? bulk?.domain(name),
    addressOf: (host) => hosts.get(host)?.address ?? services.get(host) ?? bulk?.address(host),
  }
  return {
    ...table,
    expectEmail: (address, depth) => expectEmail(table, address, depth),
    expectPhone: (number) => expectPhone(table, number),
    expectDomain: (name) => expectDomain(table, name),
  }
}

/** The domains of the name servers and the prober. */
function addInfrastructure(builder: ReturnType<typeof createBuilder>): void {
  builder.add({ name: 'simdns.net', kind: 'infrastructure', mail: { kind: 'none' } })
  builder.add({
    name: PROBER,
    kind: 'infrastructure',
    mail: { kind: 'none' },
    address: '127.0.0.1',
    spf: ['v=spf1 ip4:127.0.0.1 -all'],
  })
}

function serviceAddresses(
  registries: readonly Registry[],
  block: number,
): ReadonlyMap<string, string> {
  const services = new Map<string, string>()
  for (const [i, name] of NAME_SERVERS.serving.entries())
    services.set(name, `127.53.${block}.${i + 1}`)
  for (const [i, name] of NAME_SERVERS.lame.entries())
    services.set(name, `127.53.${block}.${i + 201}`)
  services.set('whois.iana.org', loopback(43, 0))
  services.set(REGISTRAR_WHOIS, loopback(43, 1))
  services.set('data.iana.org', loopback(80, 0))
  for (const [i, registry] of registries.entries()) {
    if (registry.whois !== undefined) services.set(registry.whois.server, loopback(43, 10 + i))
    if (registry.rdap === undefined) continue
    const { host, redirect } = registry.rdap
    services.set(host, loopback(80, 10 + i))
    if (redirect !== undefined && redirect.host !== host)
      services.set(redirect.host, loopback(81, 10 + i))
  }
  return services
}
