import { setTimeout as wait } from 'node:timers/promises'
import { tarpits, resolverAway } from './internet-scenarios.ts'
import { cancelOfMany } from './cancel-of-many.ts'
import type { Scenario } from './scenario.ts'
import { workersAway } from './workers-away.ts'

const FAULT_MS = 10_000
const LAG_MS = 2_000

/** Size of the small disk: little more than the files of a thousand batches, as a run at full size has. */
const DISK_BYTES = 64 * 1_024 * 1_024

/** Every scenario by its name; in `workers-away` no email worker runs for `awayMs`. */
export function scenariosOf(awayMs: number): Readonly<Record<string, Scenario>> {
  return { ...SCENARIOS, 'workers-away': workersAway(awayMs) }
}

const SCENARIOS: Readonly<Record<string, Scenario>> = {
  'postgres-restarted': {
    what: 'Postgres killed, started 10 s later',
    inject: async ({ postgres }) => {
      await postgres.crash()
      await wait(FAULT_MS)
      await postgres.start()
      return undefined
    },
  },
  'postgres-promoted': {
    what: 'Postgres lost, a standby 2 s behind promoted',
    mayLoseWrites: true,
    prepare: async ({ postgres }) => {
      await postgres.renewStandby()
      return {}
    },
    inject: async ({ postgres }) => {
      await postgres.holdBack()
      await wait(LAG_MS)
      await postgres.promote()
      return undefined
    },
  },
  'redis-killed': {
    what: 'Redis killed with its data, started 10 s later',
    needsRedis: true,
    inject: async ({ redis }) => {
      await redis?.kill()
      await wait(FAULT_MS)
      await redis?.start()
      return undefined
    },
  },
  'workers-replaced': {
    what: 'a deploy: each worker stopped and started, one after the other',
    inject: async ({ service }) => {
      for (const worker of service.workers) {
        await worker.kill('SIGTERM')
        await worker.restart()
      }
      return undefined
    },
  },
  'apis-replaced': {
    what: 'a deploy: each of two APIs stopped and started, one after the other',
    apiCount: 2,
    inject: async ({ apis }) => {
      for (const { api } of apis) {
        await api.kill('SIGTERM')
        await api.restart()
      }
      return undefined
    },
  },
  'old-snapshot': {
    what: '`pg_dump` with a slow reader, open for 20 s',
    inject: async ({ postgres }) => {
      await postgres.dump(2 * FAULT_MS)
      return undefined
    },
  },
  'disk-full': {
    what: 'the disk of uploads and results full for 10 s',
    diskBytes: DISK_BYTES,
    inject: async ({ disk }) => {
      await disk?.fill()
      await wait(FAULT_MS)
      await disk?.free()
      return undefined
    },
  },
  tarpits,
  'resolver-away': resolverAway,
  'cancel-of-many': cancelOfMany,
}
