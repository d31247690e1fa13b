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
  /** Whoever the scenario has to himself. */
  readonly other: Account
  /** How many there are of what has a million in full size. */
  readonly million: number
}

/**
 * What a scenario itself has handed in; it is judged like all else, and stands in no time of
 * others.
 */
export interface OwnLoad {
  readonly batches?: readonly LabBatch[]
  readonly calls?: readonly LabCall[]
}

/** One thing that happens to a service under load. */
export interface Scenario {
  readonly what: string
  /** Only where the queue is on Redis. */
  readonly needsRedis?: boolean
  /**
   * Whether what was acknowledged since it began may be gone, as with every asynchronous standby.
   */
  readonly mayLose?: boolean
  /** Real engines ask this internet over sockets; without it engines answer from memory. */
  readonly internet?: Omit<SimnetOptions, 'world'>
  readonly names?: Names
  /** Words of each worker of emails, where they are not those of the others. */
  readonly worker?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** APIs behind one entrance; one by default. */
  readonly apiCount?: number
  /** Size of the disk that the service has to itself; mounting it takes root. */
  readonly diskBytes?: number
  /** Before the load begins; untimed. */
  prepare?(place: LabTarget): Promise<OwnLoad>
  /** Lasts as long as the fault does. */
  happen(place: LabTarget, prepared: OwnLoad): Promise<OwnLoad | undefined>
}
