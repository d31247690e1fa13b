import type { Db } from './database.ts'

/** What one process of all does at a time. */
export type Duty = 'dispatch' | 'lists' | 'reconcile' | 'results'

/**
 * Takes a duty that nobody has, or keeps it, by database time. One that is held for longer than its term was
 * taken before the clock went back: who has it may be gone, and would keep others out until then.
 * @param holder tells this process from all others
 * @returns whether this process has it, for `termMs` from now on
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

/** Gives a duty up, so that another process has it at once. */
export async function leaveDuty(db: Db, duty: Duty, holder: string): Promise<void> {
  await db.pool.query('delete from duties where name = $1 and holder = $2', [duty, holder])
}
