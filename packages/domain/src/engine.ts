import type { Log } from '@plumbline/ports/log'
import type { Engine, EngineHealth } from '@plumbline/ports/engine'
import type { Limiter } from '@plumbline/ports/limiter'
import type { Memory } from '@plumbline/ports/memory'
import type { Egress } from '@plumbline/net/egress'
import type { Resolver } from '@plumbline/net/resolver'
import { createRegistryRateLimiter } from './registry-rate-limiter.ts'
import type { RegistryRateLimiter } from './registry-rate-limiter.ts'
import type { ParkingLists } from './parked.ts'
import { createRdapBootstrap } from './rdap-bootstrap.ts'
import type { RdapBootstrap } from './rdap-bootstrap.ts'
import { createRegistry } from './registry.ts'
import { createRun } from './run.ts'
import type { Sharing } from '@plumbline/ports/sharing'

/** Settings and dependencies of the domain engine. */
export interface DomainEngineOptions extends Sharing {
  readonly resolver: Resolver
  readonly egress: Egress
  readonly memory: Memory
  readonly limiter: Limiter
  readonly log: Log
  readonly disposable: { has(domain: string, mxHosts: readonly string[]): boolean }
  readonly parkingNs: ParkingLists['names']
  readonly parkingIp: ParkingLists['addresses']
  /** Default: IANA's list. */
  readonly rdapBootstrapUrl?: string
  /** File of that list, as `data update` writes it; reloaded when it changes. */
  readonly rdapListFile?: string | null
  /** Zone to base URL; overrides IANA's list. */
  readonly rdapOverrides?: Readonly<Record<string, string>>
  /** The WHOIS server that refers to each zone's own; default `whois.iana.org`. */
  readonly whoisServer?: string
  /** Port of every WHOIS query; default 43. */
  readonly whoisPort?: number
  /** Port of name servers that are queried directly; default 53. */
  readonly nameServerPort?: number
  /** Queries per second to one registry server; default 2. */
  readonly registryPerSecond?: number
  /** Concurrent queries to one registry server; default 2. */
  readonly registryConcurrency?: number
  /** Time-out of an RDAP query, redirects included; default 8,000. */
  readonly rdapTimeoutMs?: number
  /** Time-out of a WHOIS query; default 10,000. */
  readonly whoisTimeoutMs?: number
  /**
   * Milliseconds that a batch waits for a registry before a name is answered `later`; default
   * 10,000.
   */
  readonly holdMs?: number
  /** Whether front pages are fetched to detect parked domains; default false. */
  readonly readPages?: boolean
  readonly clock?: () => Date
}

/** Makes the engine of domain checks. */
export function createDomainEngine(options: DomainEngineOptions): Engine<'domain'> {
  const clock = options.clock ?? (() => new Date())
  const net = { egress: options.egress, resolver: options.resolver }
  const memory = optional(options.memory, options.log)
  const rateLimiter = createRegistryRateLimiter({
    limiter: options.limiter,
    memory,
    now: () => clock().getTime(),
    log: options.log,
    perSecond: options.registryPerSecond,
    concurrency: options.registryConcurrency,
    holdMs: options.holdMs,
  })
  const bootstrap = createRdapBootstrap({
    ...net,
    url: options.rdapBootstrapUrl ?? 'https://data.iana.org/rdap/dns.json',
    file: options.rdapListFile ?? null,
    clock,
    overrides: options.rdapOverrides,
  })
  const registry = createRegistry({
    bootstrap,
    rateLimiter,
    memory,
    shareFindings: options.shareFindings ?? true,
    clock,
    rdap: { ...net, timeoutMs: options.rdapTimeoutMs ?? 8_000 },
    whois: {
      ...net,
      timeoutMs: options.whoisTimeoutMs ?? 10_000,
      root: options.whoisServer ?? 'whois.iana.org',
      port: options.whoisPort ?? 43,
    },
  })
  const run = createRun({
    ...net,
    registry,
    clock,
    disposable: options.disposable,
    parking: { names: options.parkingNs, addresses: options.parkingIp },
    nameServerPort: options.nameServerPort ?? 53,
    readPages: options.readPages ?? false,
  })
  return {
    check: 'domain',
    run,
    health: async () => healthOf(bootstrap, rateLimiter),
    [Symbol.asyncDispose]: () => rateLimiter[Symbol.asyncDispose](),
  }
}

// The memory only saves queries: without it the engine sends more, and answers the same.
function optional(memory: Memory, log: Log): Memory {
  const warn = (error: unknown): void =>
    log.warn({ err: error }, 'the shared memory cannot be reached')
  return {
    claim: (entry) => memory.claim(entry),
    delete: (keys) => memory.delete(keys),
    get: (keys) =>
      memory.get(keys).catch((error: unknown) => {
        warn(error)
        return keys.map(() => undefined)
      }),
    set: (entries) => memory.set(entries).catch(warn),
  }
}

function healthOf(bootstrap: RdapBootstrap, rateLimiter: RegistryRateLimiter): EngineHealth[] {
  const { from, publication } = bootstrap.current
  const published = `list of RDAP servers of ${publication ?? 'an unknown day'}`
  const health: EngineHealth[] = [
    from === 'package'
      ? { name: 'domain.rdap_list', status: 'degraded', detail: `packaged ${published}` }
      : { name: 'domain.rdap_list', status: 'ok', detail: published },
  ]
  for (const { server, retryMs } of rateLimiter.paused()) {
    health.push({
      name: `domain.${server}`,
      status: 'degraded',
      detail: `paused for ${Math.ceil(retryMs / 1000)} s`,
    })
  }
  return health
}
