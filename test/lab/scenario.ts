import type { Account, TestService } from '@plumbline/testkit/service'
import type { SimnetOptions } from '../simnet/simnet.ts'
import type { LoadBalancer } from './load-balancer.ts'
import type { LabBatch, LabCall, Names } from './load.ts'
import type { LabNameServer } from './name-server.ts'
import type { PostgresPair } from './postgres.ts'
import type { LabRedis } from './redis.ts'
import type { SmallDisk } from './small-disk.ts'

/** The service under load, with the servers in which a scenario may cause faults. */
export interface LabTarget {
  /** The first API with all workers. */
  readonly service: TestService
  readonly apis: readonly TestService[]
  readonly loadBalancer: LoadBalancer
  readonly postgres: PostgresPair
  /** Undefined where the queue is on Postgres. */
  readonly redis: LabRedis | undefined
  /** Undefined if engines answer from memory. */
  readonly nameServer: LabNameServer | undefined
  /** Undefined if the scenario has no `diskBytes`. */
  readonly disk: SmallDisk | undefined
  /** An account that only the scenario uses. */
  readonly other: Account
  /** A million, times the scale. */
  readonly million: number
  /** Number of earlier runs of the scenario on the same service. */
  readonly runsBefore: number
}

/**
 * Batches and calls of a scenario itself, and its report. They are judged like all others, but their
 * durations are not counted.
 */
export interface OwnLoad {
  readonly batches?: readonly LabBatch[]
  readonly calls?: readonly LabCall[]
  /** Further measurements, as sentences. */
  readonly notes?: readonly string[]
  /** Violated conditions, as sentences; any of them fails the run. */
  readonly violations?: readonly string[]
}

/** One fault of a service under load. */
export interface Scenario {
  readonly what: string
  /** Whether it runs only with the queue on Redis; default false. */
  readonly needsRedis?: boolean
  /** Whether writes may be lost that were acknowledged during the fault, as with any asynchronous standby. */
  readonly mayLoseWrites?: boolean
  /** Options of a simulated internet for real engines; without it engines answer from memory. */
  readonly internet?: Omit<SimnetOptions, 'world'>
  readonly names?: Names
  /** Whether the duration of a call counts, since the fault must not affect it; default: all do. */
  readonly isOther?: (call: LabCall) => boolean
  /** Arguments of each email worker, if they differ from the default. */
  readonly worker?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** APIs behind the load balancer; default one. */
  readonly apiCount?: number
  /** Size of a disk for the files of one run, mounted for the service, which requires root; default none. */
  readonly diskBytes?: number
  /** Prepares the fault before the load begins; this time is no part of the fault's duration. */
  prepare?(target: LabTarget): Promise<OwnLoad>
  /** Injects the fault, and resolves when it is over. */
  inject(target: LabTarget, prepared: OwnLoad): Promise<OwnLoad | undefined>
}
