import type { Check } from '@plumbline/contract/products'
import type { Db } from '@plumbline/db/database'
import { DEFAULT_CAPACITY } from '@plumbline/pipeline/task-capacity'

/** How many tasks of each check may be in flight. */
export interface TaskBounds {
  /** Reads the registered workers; `nowMs` is virtual. */
  update(nowMs: number): Promise<void>
  /** What the workers of the last minute may run, and their reserve; at least that of one worker. */
  readonly of: (check: Check) => number
}

/**
 * Virtual milliseconds for which a bound holds after its workers are gone: their tasks are dispatched
 * again when their leases run out.
 */
const KEPT_MS = 60_000

/**
 * Age in seconds, by the database's clock, of the last heartbeat of a worker that counts. The dispatcher
 * counts those of 30; a few more, since workers come and go between two updates.
 */
const AGE_SECONDS = 40

/** Bounds by the workers that are registered in the database of a world. */
export function createTaskBounds(db: Db): TaskBounds {
  const seen: { readonly atMs: number; readonly workers: ReadonlyMap<string, number> }[] = []
  return {
    async update(nowMs) {
      const { rows } = await db.pool.query<{ kind: string; count: number }>(
        `select kind, count(*)::int as count from workers
         where seen_at >= clock_timestamp() - $1::int * interval '1 s' group by kind`,
        [AGE_SECONDS],
      )
      const workers = new Map(rows.map(({ kind, count }) => [kind, count]))
      seen.push({ atMs: nowMs, workers })
      while (seen[0] !== undefined && seen[0].atMs < nowMs - KEPT_MS) seen.shift()
    },
    of(check) {
      const { slots, reserve } = DEFAULT_CAPACITY[check]
      const most = Math.max(1, ...seen.map(({ workers }) => workers.get(check) ?? 0))
      return most * (slots + reserve)
    },
  }
}
