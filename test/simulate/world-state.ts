import type { Db } from '@plumbline/db/database'
import type { QueueBackend } from '@plumbline/queue/backend'
import type { Customers } from './customers.ts'
import type { DatabaseTime } from './database-time.ts'
import type { MemberName } from './plan-faults.ts'
import type { Plan } from './plan.ts'
import type { Member, MemberSetup } from './service.ts'
import type { VirtualTime } from './virtual-time.ts'

/** The servers of a world, and its output folder. */
export interface Ground {
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

/** How many jobs a queue of tasks held at most, and how many tasks may be in flight. */
export interface FullestQueue {
  readonly jobs: number
  readonly bound: number
}

/** State of a running world. */
export interface World {
  readonly ground: Ground
  readonly time: VirtualTime
  readonly databaseTime: DatabaseTime
  readonly db: Db
  readonly members: Map<MemberName, Member>
  readonly place: MemberSetup
  readonly customers: Customers
  /** The queue, as seen by no particular process. */
  readonly queue: QueueBackend | undefined
  readonly broken: Set<string>
  /** The queue of a check that was fullest, with its jobs that wait or are active. */
  fullest: FullestQueue
  /** When it began, in virtual time. */
  readonly begunMs: number
  /** Resolves when the queue that was lost last is recreated. */
  emptied: Promise<void>
  hasEnded: boolean
}
