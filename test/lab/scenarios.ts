import { setTimeout as wait } from 'node:timers/promises'
import { openDatabase } from '@plumbline/db/database'
import type { TestService } from '@plumbline/testkit/service'
import type { PostgresPair } from './postgres.ts'
import type { LabRedis } from './redis.ts'

/** What a scenario may break. */
export interface Place {
  readonly service: TestService
  readonly postgres: PostgresPair
  /** Undefined where the queue is on Postgres. */
  readonly redis: LabRedis | undefined
}

/** One thing that happens to a service under load. */
export interface Scenario {
  readonly what: string
  /** Only where the queue is on Redis. */
  readonly needsRedis?: boolean
  /** Whether what was acknowledged since it began may be gone, as with every asynchronous standby. */
  readonly mayLose?: boolean
  /** Lasts as long as the fault does. */
  happen(place: Place): Promise<void>
}

const LASTS_MS = 10_000
const LAG_MS = 2_000

/** Every scenario by its name. */
export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  'postgres-restarted': {
    what: 'Postgres killed, started 10 s later',
    happen: async ({ postgres }) => {
      await postgres.crash()
      await wait(LASTS_MS)
      await postgres.start()
    },
  },
  'postgres-promoted': {
    what: 'Postgres lost, a standby 2 s behind promoted',
    mayLose: true,
    happen: async ({ postgres }) => {
      await postgres.holdBack()
      await wait(LAG_MS)
      await postgres.promote()
    },
  },
  'redis-killed': {
    what: 'Redis killed with its data, started 10 s later',
    needsRedis: true,
    happen: async ({ redis }) => {
      await redis?.kill()
      await wait(LASTS_MS)
      await redis?.start()
    },
  },
  'workers-replaced': {
    what: 'a deploy: each worker stopped and started, one after the other',
    happen: async ({ service }) => {
      for (const worker of service.workers) {
        await worker.kill('SIGTERM')
        await worker.restart()
      }
    },
  },
  'old-snapshot': {
    what: 'a snapshot open for 20 s, as of `pg_dump`',
    happen: async ({ postgres }) => {
      await using db = openDatabase({ url: postgres.url, poolSize: 1, applicationName: 'lab' })
      const client = await db.pool.connect()
      await client.query('begin isolation level repeatable read; select from batches limit 1')
      await wait(2 * LASTS_MS)
      await client.query('commit')
      client.release()
    },
  },
}
