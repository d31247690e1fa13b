import type { Check } from '@plumbline/contract/products'
import type { TaskCapacity } from '@plumbline/db/workers'

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
export function capacityOf(slots: number): TaskCapacity {
  return { slots, reserve: Math.ceil(slots * RESERVE_SHARE) }
}

/** The capacity of a worker without settings. */
export const DEFAULT_CAPACITY: Readonly<Record<Check, TaskCapacity>> = {
  email: capacityOf(DEFAULT_SLOTS.email),
  phone: capacityOf(DEFAULT_SLOTS.phone),
  ip: capacityOf(DEFAULT_SLOTS.ip),
  domain: capacityOf(DEFAULT_SLOTS.domain),
}
