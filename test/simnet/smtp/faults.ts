import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { SecureContext } from 'node:tls'
import type { ServedHost } from './served.ts'

/** A connection that is to be treated badly. */
export interface FaultContext {
  readonly wire: Duplex
  readonly socket: Socket
  readonly host: ServedHost
  readonly secureContext: SecureContext
}

export interface Fault {
  readonly play: (context: FaultContext) => void
}

/** Hostile behaviours by name. */
export const FAULTS: Readonly<Record<string, Fault>> = {
  'no-banner': { play: ({ wire }) => void wire.resume() },
}
