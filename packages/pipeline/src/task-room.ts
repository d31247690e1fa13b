import type { Check } from '@plumbline/contract/products'
import type { TaskRoom } from '@plumbline/db/workers'

/** Tasks of batches in work at once in one worker, by check. */
type Slots = Readonly<Record<Check, number>>

/**
 * What a worker takes unless it is told otherwise. Lookups of IP addresses keep a core busy; tasks of domains
 * mostly wait for registries, each of which has one task running at a time.
 */
const DEFAULT_SLOTS: Slots = { email: 16, phone: 16, ip: 8, domain: 64 }

/** How many accounts of as many as it has slots a worker takes a task of beyond them, so that none waits for all slots. */
const RESERVE_SHARE = 1 / 4

/** The room of a worker with so many slots. */
export function roomOf(slots: number): TaskRoom {
  return { slots, reserve: Math.ceil(slots * RESERVE_SHARE) }
}

/** The room of a worker that was told nothing. */
export const DEFAULT_ROOM: Readonly<Record<Check, TaskRoom>> = {
  email: roomOf(DEFAULT_SLOTS.email),
  phone: roomOf(DEFAULT_SLOTS.phone),
  ip: roomOf(DEFAULT_SLOTS.ip),
  domain: roomOf(DEFAULT_SLOTS.domain),
}
