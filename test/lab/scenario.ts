import type { Account, TestService } from '@plumbline/testkit/service'
import type { SimnetOptions } from '../simnet/simnet.ts'
import type { LoadBalancer } from './load-balancer.ts'
import type { LabBatch, LabCall, Names } from './load.ts'
import type { LabNameServer } from './name-server.ts'
import type { PostgresPair } from './postgres.ts'
import type { LabRedis } from './redis.ts'
import type { SmallDisk } from './small-disk.ts'

/** What a scenario may break. */
export interface LabTarget {
  /** The first API with all workers. */
  readonly service: TestService
  readonly apis: readonly TestService[]
  readonly entrance: LoadBalancer
  readonly postgres: PostgresPair
  /** Undefined where the queue is on Postgres. */
  readonly redis: LabRedis | undefined
  /** Undefined without an internet. */
  readonly nameServer: LabNameServer | undefined
  /** Undefined where the scenario asks for none. */
  readonly disk: SmallDisk | undefined
  /** An account that only the scenario uses. */
  readonly other: Account
  /** How many there are of what has a million in full size. */
  readonly million: number
  /** How often the scenario has run before on the same service. */
  readonly runsBefore: number
}

/**
 * What a scenario itself has submitted, which is judged like the rest, but not counted in the times
 * of others; and what it saw.
 */
export interface OwnLoad {
  readonly batches?: readonly LabBatch[]
  readonly calls?: readonly LabCall[]
  /** What it saw, in words. */
  readonly seen?: readonly string[]
  /** What should not have been. */
  readonly wrong?: readonly string[]
}

/** One fault of a service under load. */
export interface Scenario {
  readonly what: string
  /** Only where the queue is on Redis. */
  readonly needsRedis?: boolean
  /** Whether writes acknowledged since it began may be lost, as with every asynchronous standby. */
  readonly mayLose?: boolean
  /** Options of a simulated internet for real engines; without it engines answer from memory. */
  readonly internet?: Omit<SimnetOptions, 'world'>
  readonly names?: Names
  /** Whether a call is one of others, whose durations count; default all. */
  readonly isOther?: (call: LabCall) => boolean
  /** Arguments of each email worker, if they differ from the default. */
  readonly worker?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** APIs behind the load balancer; default one. */
  readonly apiCount?: number
  /** Size of the service's own disk for one run; mounting it requires root. */
  readonly diskBytes?: number
  /** Runs before the load begins; not timed. */
  prepare?(place: LabTarget): Promise<OwnLoad>
  /** Runs as long as the fault lasts. */
  happen(place: LabTarget, prepared: OwnLoad): Promise<OwnLoad | undefined>
}
