import type { Profile } from '../smtp/profile.ts'

/**
 * One machine that takes mail. Without an address nothing answers at the one that DNS gives for it.
 */
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

/** How the domain says where its mail goes. */
export type Mail =
  | { readonly kind: 'mx'; readonly exchanges: readonly Exchange[] }
  | { readonly kind: 'implicit'; readonly host: string }
  | { readonly kind: 'null-mx' }
  | { readonly kind: 'none' }

/** How name servers fail for a name; see `dns/faults.ts`. */
export type DnsFault = string

/** What the registry says. Days are counted from the world's today; dates are ISO 8601 in UTC. */
export interface Registration {
  readonly registrar: string
  readonly createdAt: string
  readonly expiresAt: string
  readonly statuses: readonly string[]
}

/** One name of the world and all that is true of it. */
export interface Domain {
  readonly name: string
  /**
   * What it stands for: `plain`, `accept-all`, `greylist`, `parked`, a provider's name,
   * `hostile:no-banner`.
   */
  readonly kind: string
  readonly mail: Mail
  /** Policy of this domain where its host serves several. */
  readonly acceptsAll?: boolean
  readonly address?: string
  /** Any name below it resolves to `address`. */
  readonly wildcard?: boolean
  readonly nameServers: readonly string[]
  readonly spf: readonly string[]
  readonly dmarc: readonly string[]
  readonly dnsFault?: DnsFault
  /** The name itself does not resolve although it may be registered. */
  readonly undelegated?: boolean
  /** Null: free to register. */
  readonly registration: Registration | null
  readonly disposable?: boolean
  readonly free?: boolean
  readonly parked?: boolean
}
