import { openTestDatabase } from '@plumbline/testkit/database'
import { PATIENT } from '@plumbline/testkit/patience'
import { expect, test } from 'vitest'

const UUID = '00000000-0000-4000-8000-00000000000'

/** Two takes of what is there for one, and the result of the second if it is judged after the first. */
const PAIRS = [
  {
    name: 'of a token bucket',
    take: () =>
      `select granted from take_from_buckets(array['a'], array[1], array[0.01], array[1])`,
    result: { granted: false },
  },
  {
    name: 'of leases',
    take: (no: number) => `
      select granted from take_leases(array['a'], array['${UUID}${no}'::uuid], array[1], array[60000])`,
    result: { granted: false },
  },
  {
    name: 'of a daily budget',
    take: () => `select taken::int from take_from_budget('a', 6, 10)`,
    result: { taken: 4 },
  },
] as const

test.each(PAIRS)(
  'of two takes at once the second waits for the first, and counts it: $name',
  async ({ take, result }) => {
    await using db = await openTestDatabase(3)
    // The row exists, so that two that insert it are not what waits.
    await db.pool.query(`
      insert into rate_buckets (key, full_at) values ('a', 0);
      insert into budgets (name, day, spent) values ('a', (now() at time zone 'utc')::date, 0)`)
    const client = await db.pool.connect()
    await client.query('begin')
    await client.query(take(1))
    const second = db.pool.query<object>(take(2))
    await expect
      .poll(async () => {
        const { rowCount } = await db.pool.query(
          "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
        )
        return rowCount
      }, PATIENT)
      .toBe(1)
    await client.query('commit')
    client.release()
    expect((await second).rows[0]).toEqual(result)
  },
)
