import type { Db } from '@plumbline/db/database'
import type { QueueBackend } from '@plumbline/queue/backend'
import type { Customers } from './customers.ts'
import type { DatabaseClock } from './database-clock.ts'
import type { MemberName } from './plan-faults.ts'
import type { Plan } from './plan.ts'
import type { Member, MemberSetup } from './service.ts'
import type { TaskBounds } from './task-bounds.ts'
import type { VirtualTime } from './virtual-time.ts'

/** Plan, servers and output files of a world. */
export interface WorldServers {
  readonly plan: Plan
  /** URL of the world's database with the owner's role. */
  readonly ownerUrl: string
  /** URL of that database with the serving role. */
  readonly servingUrl: string
  readonly redisUrl: string | undefined
  readonly dataDir: string
  readonly logPath: string
  readonly tracePath: string
}

/** The highest number of jobs in a queue of tasks, and the limit of tasks in flight. */
export interface FullestQueue {
  readonly jobs: number
  readonly bound: number
}

/** State of a running world. */
export interface World {
  readonly servers: WorldServers
  readonly time: VirtualTime
  readonly databaseClock: DatabaseClock
  readonly db: Db
  readonly members: Map<MemberName, Member>
  readonly setup: MemberSetup
  readonly customers: Customers
  /** The simulation's own connection to the queue in Redis; undefined if the queue is in Postgres. */
  readonly queue: QueueBackend | undefined
  readonly violations: Set<string>
  readonly bounds: TaskBounds
  /** The queue with the most waiting and active jobs in relation to its limit. */
  fullest: FullestQueue
  /** Virtual time of the world's beginning. */
  readonly begunMs: number
  /** Virtual time at which a fault of a connection last happened; at first that of the beginning. */
  faultMs: number
  /** Begins the promotion of the standby; undefined if there is none, or it has taken over. */
  takeOver: (() => void) | undefined
  /** Whether time stands still whatever the processes do. */
  isHeld: boolean
  /** Resolves when the queue has been recreated after the last loss of its jobs. */
  queueEmptied: Promise<void>
  hasEnded: boolean
}
