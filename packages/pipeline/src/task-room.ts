import type { Check } from '@plumbline/contract/products'
import type { TaskRoom } from '@plumbline/db/workers'

/** Tasks of batches that one worker runs at once, by check. */
type Slots = Readonly<Record<Check, number>>

/**
 * The default. Lookups of IP addresses keep a core busy; tasks of domains mostly wait for
 * registries, each of which has one task running at a time.
 */
const DEFAULT_SLOTS: Slots = { email: 16, phone: 16, ip: 8, domain: 64 }

/**
 * Tasks beyond the slots, as a share of them: one for each further account, so that no account
 * waits for another's slots.
 */
const RESERVE_SHARE = 1 / 4

/** The capacity of a worker with this many slots. */
export function roomOf(slots: number): TaskRoom {
  return { slots, reserve: Math.ceil(slots * RESERVE_SHARE) }
}

/** The capacity of a worker without settings. */
export const DEFAULT_ROOM: Readonly<Record<Check, TaskRoom>> = {
  email: roomOf(DEFAULT_SLOTS.email),
  phone: roomOf(DEFAULT_SLOTS.phone),
  ip: roomOf(DEFAULT_SLOTS.ip),
  domain: roomOf(DEFAULT_SLOTS.domain),
}
