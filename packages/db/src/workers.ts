import type { EngineHealth } from '@plumbline/ports/engine'
import { CHECKS } from '@plumbline/contract/products'
import type { Db } from './database.ts'
import { jsonbText } from './jsonb.ts'

/** What a worker may serve: a check, or the stages of batches. */
export const WORKER_KINDS = [...CHECKS, 'batch'] as const

/** One of `WORKER_KINDS`. */
export type WorkerKind = (typeof WORKER_KINDS)[number]

/** A worker process that lives, and how what it depends on is doing. */
export interface WorkerReport {
  /** Tells it from all others: machine and process. */
  readonly name: string
  readonly kind: WorkerKind
  readonly health: readonly EngineHealth[]
}

/** A report, and how old it is in milliseconds by the database's clock. */
export interface SeenWorker extends WorkerReport {
  readonly ageMs: number
}

/** How often a worker reports. */
export const REPORT_MS = 30_000

/** A worker that has not reported for so long is gone. */
export const GONE_MS = 3 * REPORT_MS

/** Notes what a worker says of itself, and forgets those that are gone. */
export async function reportWorker(db: Db, { name, kind, health }: WorkerReport): Promise<void> {
  await db.pool.query({
    name: 'workers-report',
    text: `
      with gone as (
        delete from workers
        where seen_at < clock_timestamp() - $4::int * interval '1 ms' and name <> $1
      )
      insert into workers (name, kind, health) values ($1, $2, $3)
      on conflict (name, kind) do update set health = excluded.health, seen_at = excluded.seen_at`,
    values: [name, kind, jsonbText(health), GONE_MS],
  })
}

/** Forgets a worker that stops. */
export async function forgetWorker(db: Db, name: string): Promise<void> {
  await db.pool.query('delete from workers where name = $1', [name])
}

/** The workers that live, by kind and name. */
export async function readWorkers(db: Db): Promise<readonly SeenWorker[]> {
  const { rows } = await db.pool.query<SeenWorker>(
    `select name, kind, health,
        (extract(epoch from clock_timestamp() - seen_at) * 1000)::float8 as "ageMs"
      from workers
      where seen_at >= clock_timestamp() - $1::int * interval '1 ms'
      order by kind, name`,
    [GONE_MS],
  )
  return rows
}
