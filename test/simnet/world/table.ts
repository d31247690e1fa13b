import type { BulkRule } from './bulk.ts'
import type { Domain, MailHost } from './domain.ts'
import type { Registry } from './registries.ts'

/** The data of a world, with lookups. */
export interface WorldTable {
  readonly seed: number
  /** Start of the world's present UTC day, in ms since the Unix epoch. */
  readonly todayMs: number
  readonly domains: ReadonlyMap<string, Domain>
  readonly hosts: ReadonlyMap<string, MailHost>
  readonly registries: readonly Registry[]
  /** Loopback addresses of name servers, registries and the like, by host name. */
  readonly services: ReadonlyMap<string, string>
  readonly bulk: BulkRule | undefined
  /** The domain with this name, from the table or by the bulk rule. */
  findDomain(name: string): Domain | undefined
  /** The address of a mail host or service; undefined for any other name. */
  addressOf(host: string): string | undefined
}
