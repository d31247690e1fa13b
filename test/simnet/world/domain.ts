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
  /** A host name of `World.hosts`, or one that exists nowhere. */
  readonly host: string
}

/** How the domain names its mail hosts. */
export type Mail =
  | { readonly kind: 'mx'; readonly exchanges: readonly Exchange[] }
  | { readonly kind: 'implicit'; readonly host: string }
  | { readonly kind: 'null-mx' }
  | { readonly kind: 'none' }

/** How name servers fail for a name; see `dns/faults.ts`. */
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
  /** Policy of this domain, if its host serves several. */
  readonly acceptsAll?: boolean
  readonly address?: string
  /** Whether any name below it resolves to `address`. */
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
