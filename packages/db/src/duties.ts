import type { Db } from './database.ts'

/** Background work that only one process at a time does: the one that holds the row of `duties`. */
export type Duty = 'dispatch' | 'lists' | 'reconcile' | 'reconcile_files' | 'results'

/**
 * Milliseconds for which a dispatcher that died keeps others out, and for which it may stand still
 * within a round.
 */
export const DISPATCH_TERM_MS = 3_000

/**
 * Takes a duty that no process holds, or extends it, by database time. A duty that is held for
 * longer than its term was taken before the clock was set back: its holder may be dead, so it may
 * be taken over.
 *
 * @param holder identifies this process
 * @returns whether this process holds it, for `termMs` from now on
 */
export async function holdDuty(
  db: Db,
  duty: Duty,
  holder: string,
  termMs: number,
): Promise<boolean> {
  const { rowCount } = await db.pool.query({
    name: 'duties.hold',
    text: `
      insert into duties as d (name, holder, held_until)
      values ($1, $2, clock_timestamp() + $3::int * interval '1 ms')
      on conflict (name) do update set holder = excluded.holder, held_until = excluded.held_until
      where d.holder = excluded.holder or d.held_until < clock_timestamp()
        or d.held_until > clock_timestamp() + $3::int * interval '1 ms'`,
    values: [duty, holder, termMs],
  })
  return rowCount === 1
}

/** Releases a duty, so that another process can take it at once. */
export async function leaveDuty(db: Db, duty: Duty, holder: string): Promise<void> {
  await db.pool.query('delete from duties where name = $1 and holder = $2', [duty, holder])
}
