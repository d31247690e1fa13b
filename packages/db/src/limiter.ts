import { randomUUID } from 'node:crypto'
import {
  type Grant,
  type Limiter,
  checkLease,
  checkTake,
  grantOf,
  leaseRetryMs,
} from '@plumbline/ports/limiter'
import { createBatcher } from '@plumbline/concurrency/batcher'
import type { Db } from './database.ts'

/** Maximum number of requests in one statement: each holds a row lock until the statement ends. */
const MAX_TAKES = 200

/**
 * Token buckets and leases in Postgres, by its own clock. Requests that wait at the same moment go
 * in one statement, which decides them in order of arrival.
 */
export function createPostgresLimiter(db: Db): Limiter {
  const bound = { maxItems: MAX_TAKES }
  const take = createBatcher((asks: readonly Take[]) => takeAll(db, asks), bound)
  const lease = createBatcher((asks: readonly LeaseAsk[]) => leaseAll(db, asks), bound)
  const renew = createBatcher((asks: readonly Renewal[]) => renewAll(db, asks), bound)
  return {
    async take(key, count, rate) {
      checkTake(count, rate)
      return take({ key, count, ...rate })
    },
    async lease(key, limit, ttlMs) {
      checkLease(limit, ttlMs)
      const holder = randomUUID()
      const { granted, wait_ms } = await lease({ key, holder, limit, ttlMs })
      if (!granted) return { granted, retryMs: leaseRetryMs(wait_ms) }
      return {
        granted,
        renew: () => renew({ key, holder, ttlMs }),
        release: () => release(db, key, holder),
      }
    },
  }
}

interface Take {
  readonly key: string
  readonly count: number
  readonly perSecond: number
  readonly burst: number
}

async function takeAll(db: Db, asks: readonly Take[]): Promise<readonly Grant[]> {
  const { rows } = await db.pool.query<TakeRow>({
    name: 'limiter-take',
    text: `select place, granted, wait_ms, remaining
             from take_from_buckets($1::text[], $2::float8[], $3::float8[], $4::float8[])
            order by place`,
    values: [
      asks.map(({ key }) => key),
      asks.map(({ count }) => count),
      asks.map(({ perSecond }) => perSecond),
      asks.map(({ burst }) => burst),
    ],
  })
  return rows.map(({ granted, wait_ms, remaining }) => grantOf(granted, wait_ms, remaining))
}

interface TakeRow extends LeaseRow {
  readonly remaining: number
}

interface LeaseAsk extends Renewal {
  readonly limit: number
}

interface LeaseRow {
  readonly granted: boolean
  readonly wait_ms: number
}

async function leaseAll(db: Db, asks: readonly LeaseAsk[]): Promise<readonly LeaseRow[]> {
  const { rows } = await db.pool.query<LeaseRow>({
    name: 'limiter-lease',
    text: `select place, granted, wait_ms
             from take_leases($1::text[], $2::uuid[], $3::int[], $4::float8[])
            order by place`,
    values: [
      asks.map(({ key }) => key),
      asks.map(({ holder }) => holder),
      asks.map(({ limit }) => limit),
      asks.map(({ ttlMs }) => ttlMs),
    ],
  })
  return rows
}

interface Renewal {
  readonly key: string
  readonly holder: string
  readonly ttlMs: number
}

async function renewAll(db: Db, asks: readonly Renewal[]): Promise<readonly boolean[]> {
  const { rows } = await db.pool.query<{ holder: string }>({
    name: 'limiter-renew',
    text: `update leases l set expires_at = now() + a.ttl_ms * interval '1 millisecond'
             from unnest($1::text[], $2::uuid[], $3::float8[]) as a (key, holder, ttl_ms)
            where l.key = a.key and l.holder = a.holder and l.expires_at > now()
           returning l.holder`,
    values: [
      asks.map(({ key }) => key),
      asks.map(({ holder }) => holder),
      asks.map(({ ttlMs }) => ttlMs),
    ],
  })
  const kept = new Set(rows.map(({ holder }) => holder))
  return asks.map(({ holder }) => kept.has(holder))
}

async function release(db: Db, key: string, holder: string): Promise<void> {
  await db.pool.query({
    name: 'limiter-release',
    text: `delete from leases where key = $1 and holder = $2`,
    values: [key, holder],
  })
}
