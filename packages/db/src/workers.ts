import type { EngineHealth } from '@plumbline/ports/engine'
import { CHECKS, type Check } from '@plumbline/contract/products'
import type { Db } from './database.ts'
import { jsonbText } from './jsonb.ts'

/** Kinds of work: a check, or the stages of batches. */
export const WORKER_KINDS = [...CHECKS, 'batch'] as const

/** One of `WORKER_KINDS`. */
export type WorkerKind = (typeof WORKER_KINDS)[number]

/** A live worker process and the health of its dependencies. */
export interface WorkerReport {
  /** Unique name: machine and process. */
  readonly name: string
  readonly kind: WorkerKind
  readonly health: readonly EngineHealth[]
  /** For workers of a check only. */
  readonly capacity?: TaskCapacity
}

/** Maximum number of concurrent tasks of batches. */
export interface TaskCapacity {
  readonly slots: number
  /** Further tasks for accounts that have none in work. */
  readonly reserve: number
}

/** A report, and its age in milliseconds by the database's clock. */
export interface SeenWorker extends WorkerReport {
  readonly ageMs: number
}

/** Milliseconds between two health reports of a worker. */
export const REPORT_MS = 30_000

/** Milliseconds between two heartbeats of a worker. */
export const HEARTBEAT_MS = 5_000

/**
 * Milliseconds without a heartbeat after which a worker's capacity no longer counts. Not sooner:
 * the tasks that it had are dispatched again only when their leases run out, and until then they
 * would take the capacity of others.
 */
const CAPACITY_MS = 30_000

/** Milliseconds without a report after which a worker counts as gone. */
export const GONE_MS = 3 * REPORT_MS

/**
 * Stores a worker's report and deletes those of workers that are gone, and those dated in the future
 * since the clock was set back: a live worker's next heartbeat reports it again. Two statements, of
 * which the one that touches other workers' rows waits for no lock: after a pause of the database
 * each worker counts all others as gone.
 */
export async function reportWorker(
  db: Db,
  { name, kind, health, capacity }: WorkerReport,
): Promise<void> {
  await db.pool.query({
    name: 'workers-gone',
    text: `
      delete from workers where ctid = any(array(
        select ctid from workers
        where seen_at not between clock_timestamp() - $2::int * interval '1 ms'
          and clock_timestamp() + $2::int * interval '1 ms' and name <> $1
        for update skip locked))`,
    values: [name, GONE_MS],
  })
  await db.pool.query({
    name: 'workers-report',
    text: `
      insert into workers (name, kind, health, slots, reserve) values ($1, $2, $3, $4, $5)
      on conflict (name, kind) do update set health = excluded.health, seen_at = excluded.seen_at,
        slots = excluded.slots, reserve = excluded.reserve`,
    values: [name, kind, jsonbText(health), capacity?.slots ?? null, capacity?.reserve ?? null],
  })
}

/** Stores a heartbeat; returns how many kinds of work the worker is registered for. */
export async function storeHeartbeat(db: Db, name: string): Promise<number> {
  const { rowCount } = await db.pool.query({
    name: 'workers-storeHeartbeat',
    text: 'update workers set seen_at = clock_timestamp() where name = $1',
    values: [name],
  })
  return rowCount ?? 0
}

/** The capacity of the live workers, by check. One that does not report it has that of `usual`. */
export async function readCapacity(
  db: Db,
  usual: Readonly<Record<Check, TaskCapacity>>,
): Promise<Readonly<Record<Check, TaskCapacity>>> {
  const { rows } = await db.pool.query<{ kind: Check; slots: number; reserve: number }>({
    name: 'workers-capacity',
    text: `
      select w.kind, sum(coalesce(w.slots, u.slots))::int as slots,
        sum(coalesce(w.reserve, u.reserve))::int as reserve
      from workers w join unnest($1::text[], $2::int[], $3::int[]) as u(kind, slots, reserve)
        on u.kind = w.kind
      where w.seen_at >= clock_timestamp()
        - case when w.slots is null then $5 else $4 end::int * interval '1 ms'
      group by w.kind`,
    values: [
      CHECKS,
      CHECKS.map((check) => usual[check].slots),
      CHECKS.map((check) => usual[check].reserve),
      CAPACITY_MS,
      GONE_MS,
    ],
  })
  const capacity = { email: NO_CAPACITY, phone: NO_CAPACITY, ip: NO_CAPACITY, domain: NO_CAPACITY }
  for (const { kind, slots, reserve } of rows) capacity[kind] = { slots, reserve }
  return capacity
}

/** How many live workers serve the stages of batches; at least one, the caller. */
export async function countBatchWorkers(db: Db): Promise<number> {
  const { rows } = await db.pool.query<{ count: number }>({
    name: 'workers-batch',
    text: `
      select greatest(1, count(*))::int as count from workers
      where kind = 'batch' and seen_at >= clock_timestamp() - $1::int * interval '1 ms'`,
    values: [CAPACITY_MS],
  })
  return rows[0]?.count ?? 1
}

const NO_CAPACITY: TaskCapacity = { slots: 0, reserve: 0 }

/** Deletes the report of a worker that stops. */
export async function deleteWorkerReport(db: Db, name: string): Promise<void> {
  await db.pool.query('delete from workers where name = $1', [name])
}

/** The live workers, by kind and name. */
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
