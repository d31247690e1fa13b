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
 * How many accounts have bought HLR numbers today, and how many of them have reached their limit:
 * that of the account, else of its plan, else `most`.
 *
 * @param beginning prefix of the names of their budgets; the account's id follows
 */
export async function countBuyers(
  db: Db,
  beginning: string,
  most: number,
): Promise<{ readonly buying: number; readonly capped: number }> {
  const { rows } = await db.pool.query<{ buying: number; capped: number }>(
    `select count(*)::int as buying, count(*) filter (where b.spent >=
        coalesce(l.hlr_numbers_per_day, p.hlr_numbers_per_day, $2))::int as capped
     from budgets b
       left join accounts a on a.id = substr(b.name, length($1) + 1)
       left join plans p on p.plan = a.plan
       left join account_limits l on l.account_id = a.id
     where b.day = (now() at time zone 'utc')::date and starts_with(b.name, $1) and b.spent > 0`,
    [beginning, most],
  )
  return rows[0] ?? { buying: 0, capped: 0 }
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
