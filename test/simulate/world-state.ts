import type { Db } from '@plumbline/db/database'
import type { QueueBackend } from '@plumbline/queue/backend'
import type { Customers } from './customers.ts'
import type { DatabaseTime } from './database-time.ts'
import type { MemberName } from './plan-faults.ts'
import type { Plan } from './plan.ts'
import type { Member, MemberSetup } from './service.ts'
import type { VirtualTime } from './virtual-time.ts'

/** The servers of a world, and its output folder. */
export interface WorldServers {
  readonly plan: Plan
  /** URL with the owner of the database, which was made from the template. */
  readonly ownerUrl: string
  /** URL with the serving role. */
  readonly servingUrl: string
  readonly redisUrl: string | undefined
  readonly dataDir: string
  readonly logPath: string
  readonly tracePath: string
}

/** Maximum number of jobs in a queue of tasks, and the limit of tasks in flight. */
export interface FullestQueue {
  readonly jobs: number
  readonly bound: number
}

/** State of a running world. */
export interface World {
  readonly servers: WorldServers
  readonly time: VirtualTime
  readonly databaseTime: DatabaseTime
  readonly db: Db
  readonly members: Map<MemberName, Member>
  readonly setup: MemberSetup
  readonly customers: Customers
  /** A connection of the simulation itself to the queue in Redis; undefined if it is in Postgres. */
  readonly queue: QueueBackend | undefined
  readonly violations: Set<string>
  /** The queue with the most waiting and active jobs in relation to its limit. */
  fullest: FullestQueue
  /** When it began, in virtual time. */
  readonly begunMs: number
  /** Resolves when the queue has been recreated after its last loss. */
  emptied: Promise<void>
  hasEnded: boolean
}
