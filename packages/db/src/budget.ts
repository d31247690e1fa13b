import type { Budget } from '@plumbline/ports/budget'
import type { Db } from './database.ts'

/**
 * Budgets in Postgres, by the day of its clock; a granted amount is durable when the call returns.
 */
export function createPostgresBudget(db: Db): Budget {
  return {
    async take(name, count, mostPerDay) {
      for (const number of [count, mostPerDay]) checkCount(number)
      const { rows } = await db.pool.query<{ taken: number; spent_on: string }>({
        name: 'budget-take',
        text: 'select taken::float8, spent_on from take_from_budget($1, $2, $3)',
        values: [name, count, mostPerDay],
      })
      const { taken = 0, spent_on: day = '' } = rows[0] ?? {}
      let left = taken
      return {
        count: taken,
        async giveBack(unspent) {
          checkCount(unspent)
          const back = Math.min(unspent, left)
          left -= back
          if (back > 0) await giveBack(db, { name, day, count: back })
        },
      }
    },
  }
}

/**
 * Amounts spent from each budget today, by the database's clock.
 *
 * @param except prefixes of names to leave out, such as those of single accounts
 */
export async function readSpending(
  db: Db,
  except: readonly string[] = [],
): Promise<ReadonlyMap<string, number>> {
  const { rows } = await db.pool.query<{ name: string; spent: number }>(
    `select name, spent::float8 from budgets
     where day = (now() at time zone 'utc')::date
       and not exists (select from unnest($1::text[]) as beginning where starts_with(name, beginning))`,
    [except],
  )
  return new Map(rows.map(({ name, spent }) => [name, spent]))
}

/**
 * How many budgets with this name prefix were spent from today, and how many have reached `most`.
 */
export async function countSpenders(
  db: Db,
  beginning: string,
  most: number,
): Promise<{ readonly spending: number; readonly spent: number }> {
  const { rows } = await db.pool.query<{ spending: number; spent: number }>(
    `select count(*)::int as spending, count(*) filter (where spent >= $2)::int as spent
     from budgets
     where day = (now() at time zone 'utc')::date and starts_with(name, $1) and spent > 0`,
    [beginning, most],
  )
  return rows[0] ?? { spending: 0, spent: 0 }
}

async function giveBack(
  db: Db,
  { name, day, count }: { name: string; day: string; count: number },
): Promise<void> {
  await db.pool.query({
    name: 'budget-give-back',
    text: 'update budgets set spent = greatest(0, spent - $3) where name = $1 and day = $2::date',
    values: [name, day, count],
  })
}

function checkCount(count: number): void {
  if (!(Number.isSafeInteger(count) && count >= 0)) {
    throw new RangeError(`a budget counts in whole numbers from 0, got ${count}`)
  }
}
