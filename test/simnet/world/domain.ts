import type { Profile } from '../smtp/profile.ts'

/** A mail host. Without a profile, nothing listens at the address that DNS returns for it. */
export interface MailHost {
  readonly name: string
  readonly address: string
  /** Absent: no listener, so that a connection is refused. */
  readonly profile?: Profile
}

/** One MX record. */
export interface Exchange {
  readonly preference: number
  /** A host name of `World.hosts`, or one that does not exist. */
  readonly host: string
}

/** How DNS gives the mail hosts of a domain. */
export type Mail =
  | { readonly kind: 'mx'; readonly exchanges: readonly Exchange[] }
  | { readonly kind: 'implicit'; readonly host: string }
  | { readonly kind: 'null-mx' }
  | { readonly kind: 'none' }

/** Name of a fault of name servers; see `dns/faults.ts`. */
export type DnsFault = string

/** Data of the registry. Days are counted from the world's present day; dates are ISO 8601 in UTC. */
export interface Registration {
  readonly registrar: string
  readonly createdAt: string
  readonly expiresAt: string
  readonly statuses: readonly string[]
}

/** One domain name of the world, with all facts about it. */
export interface Domain {
  readonly name: string
  /** Its kind: `plain`, `accept-all`, `greylist`, `parked`, a provider's name, `hostile:no-banner`. */
  readonly kind: string
  readonly mail: Mail
  /** Whether this domain accepts any recipient, if its host serves several domains. */
  readonly acceptsAll?: boolean
  readonly address?: string
  /** Whether any name below the domain resolves to `address`. */
  readonly wildcard?: boolean
  readonly nameServers: readonly string[]
  readonly spf: readonly string[]
  readonly dmarc: readonly string[]
  readonly dnsFault?: DnsFault
  /** Whether the name does not resolve, although it may be registered. */
  readonly undelegated?: boolean
  /** Null: free to register. */
  readonly registration: Registration | null
  readonly disposable?: boolean
  readonly free?: boolean
  readonly parked?: boolean
}
