import { at } from '../random.ts'
import type { Profile } from '../smtp/profile.ts'
import { loopback } from './builder.ts'
import type { Domain, MailHost } from './domain.ts'
import { KINDS } from './kinds.ts'
import type { Kind } from './kinds.ts'

/** Domains that are computed from their names, for benchmarks with more names than fit into a table. */
export interface BulkDomains {
  readonly count: number
  /** First part of the names; default `d`: `d0.example`, `d1.example` and so on. */
  readonly prefix?: string
  /**
   * Zones, taken in turn; default `example` alone. Every domain has its own MX host `mx.<domain>`.
   */
  readonly suffixes?: readonly string[]
  /** Loopback addresses that the MX hosts share; default the count, at most 250. */
  readonly addresses?: number
  /** Kinds of server, one address after the other; default all `plain`. */
  readonly kinds?: readonly Kind[]
}

/** Computes domains and hosts from their names, without a table. */
export interface BulkRule {
  readonly hosts: readonly (MailHost & { readonly profile: Profile })[]
  /** The name of the i-th domain. */
  name(index: number): string
  domain(name: string): Domain | undefined
  /** The address of `mx.<domain>`; undefined for any other name. */
  address(host: string): string | undefined
}

/** Makes the rule for a description. */
export function createBulkRule(given: BulkDomains, todayMs: number): BulkRule {
  const prefix = given.prefix ?? 'd'
  const suffixes = given.suffixes ?? ['example']
  const nameOf = (i: number): string => `${prefix}${i}.${at(suffixes, i)}`
  const kinds = given.kinds ?? ['plain']
  const addressCount = Math.min(given.addresses ?? 250, given.count)
  const hosts = Array.from({ length: addressCount }, (_, k) => {
    const name = `mx.${nameOf(k)}`
    return { name, address: loopback(100, k), profile: KINDS[at(kinds, k)](name) }
  })
  const index = (name: string): number => {
    const dot = name.indexOf('.')
    const digits = name.slice(prefix.length, dot)
    if (!name.startsWith(prefix) || !/^(?:0|[1-9][0-9]{0,8})$/.test(digits)) return -1
    const i = Number(digits)
    return i < given.count && name.slice(dot + 1) === at(suffixes, i) ? i : -1
  }
  const createdAt = new Date(todayMs - 1000 * 86_400_000).toISOString()
  const expiresAt = new Date(todayMs + 365 * 86_400_000).toISOString()
  return {
    hosts,
    name: nameOf,
    domain: (name) => {
      const i = index(name)
      if (i < 0) return undefined
      return {
        name,
        kind: at(kinds, i % addressCount),
        mail: { kind: 'mx', exchanges: [{ preference: 10, host: `mx.${name}` }] },
        nameServers: ['ns1.simdns.net', 'ns2.simdns.net'],
        address: at(hosts, i % addressCount).address,
        spf: ['v=spf1 mx -all'],
        dmarc: ['v=DMARC1; p=none'],
        registration: { registrar: 'Bulk Names Ltd', createdAt, expiresAt, statuses: ['active'] },
      }
    },
    address: (host) => {
      if (!host.startsWith('mx.')) return undefined
      const i = index(host.slice(3))
      return i < 0 ? undefined : at(hosts, i % addressCount).address
    },
  }
}
