import type { EngineHealth } from '@plumbline/ports/engine'
import { CHECKS, type Check } from '@plumbline/contract/products'
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
  /** Of a worker of a check. */
  readonly room?: TaskRoom
}

/** How many tasks of batches are in work at once. */
export interface TaskRoom {
  readonly slots: number
  /** Beyond the slots, for accounts that have none in work. */
  readonly reserve: number
}

/** A report, and how old it is in milliseconds by the database's clock. */
export interface SeenWorker extends WorkerReport {
  readonly ageMs: number
}

/** How often a worker reports the health of what it leans on. */
export const REPORT_MS = 30_000

/** How often a worker says that it lives. */
export const BEAT_MS = 5_000

/**
 * The room of a worker that said nothing for so long counts no more. No sooner, since the tasks that it had are
 * handed out again when their leases run out: until then they would take the room of others.
 */
const ROOM_MS = 30_000

/** A worker that has not reported for so long is gone. */
export const GONE_MS = 3 * REPORT_MS

/**
 * Notes what a worker says of itself, and forgets those that are gone. In two statements, of which the one that
 * touches rows of others waits for none: after a pause of the database each worker takes all others for gone.
 */
export async function reportWorker(
  db: Db,
  { name, kind, health, room }: WorkerReport,
): Promise<void> {
  await db.pool.query({
    name: 'workers-gone',
    text: `
      delete from workers where ctid = any(array(
        select ctid from workers
        where seen_at < clock_timestamp() - $2::int * interval '1 ms' and name <> $1
        for update skip locked))`,
    values: [name, GONE_MS],
  })
  await db.pool.query({
    name: 'workers-report',
    text: `
      insert into workers (name, kind, health, slots, reserve) values ($1, $2, $3, $4, $5)
      on conflict (name, kind) do update set health = excluded.health, seen_at = excluded.seen_at,
        slots = excluded.slots, reserve = excluded.reserve`,
    values: [name, kind, jsonbText(health), room?.slots ?? null, room?.reserve ?? null],
  })
}

/** Notes that a worker lives; answers of how many kinds it is known to be one. */
export async function beat(db: Db, name: string): Promise<number> {
  const { rowCount } = await db.pool.query({
    name: 'workers-beat',
    text: 'update workers set seen_at = clock_timestamp() where name = $1',
    values: [name],
  })
  return rowCount ?? 0
}

/** The room of the workers that live, by check. One that does not tell it has that of `usual`. */
export async function readRoom(
  db: Db,
  usual: Readonly<Record<Check, TaskRoom>>,
): Promise<Readonly<Record<Check, TaskRoom>>> {
  const { rows } = await db.pool.query<{ kind: Check; slots: number; reserve: number }>({
    name: 'workers-room',
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
      ROOM_MS,
      GONE_MS,
    ],
  })
  const room = { email: NO_ROOM, phone: NO_ROOM, ip: NO_ROOM, domain: NO_ROOM }
  for (const { kind, slots, reserve } of rows) room[kind] = { slots, reserve }
  return room
}

const NO_ROOM: TaskRoom = { slots: 0, reserve: 0 }

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
