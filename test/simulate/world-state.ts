import type { Db } from '@plumbline/db/database'
import type { QueueBackend } from '@plumbline/queue/backend'
import type { Customers } from './customers.ts'
import type { DatabaseTime } from './database-time.ts'
import type { MemberName } from './plan-faults.ts'
import type { Plan } from './plan.ts'
import type { Member, MemberSetup } from './service.ts'
import type { VirtualTime } from './virtual-time.ts'

/** Where the servers of a world are, and what it writes. */
export interface Ground {
  readonly plan: Plan
  /** As the owner of the database, made from the template. */
  readonly ownerUrl: string
  /** As the role that serves. */
  readonly servingUrl: string
  readonly redisUrl: string | undefined
  readonly dataDir: string
  readonly logPath: string
  readonly tracePath: string
}

/** A world while it lasts. */
export interface World {
  readonly ground: Ground
  readonly time: VirtualTime
  readonly databaseTime: DatabaseTime
  readonly db: Db
  readonly members: Map<MemberName, Member>
  readonly place: MemberSetup
  readonly customers: Customers
  /** The queue as nobody's process. */
  readonly queue: QueueBackend | undefined
  readonly broken: Set<string>
  /** When it began, in virtual time. */
  readonly begunMs: number
  /** Resolves when the queue that was lost last is there again. */
  emptied: Promise<void>
  hasEnded: boolean
}
