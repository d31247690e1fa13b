import { createAccount } from '@plumbline/db/accounts'
import { openDatabase, type Db } from '@plumbline/db/database'
import { createMetering, type Metering } from '@plumbline/metering/metering'
import type { Plan } from '@plumbline/contract/plans'
import { createTestDatabase } from './postgres.ts'

/** A database for one test, with the operations of metering. */
export interface MeteringContext extends AsyncDisposable {
  readonly url: string
  readonly db: Db
  readonly metering: Metering
  /** Creates an account; returns its id. */
  account(plan?: Plan, timeZone?: string): Promise<string>
  /** Moves an account's billing dates back, so that `months` more cycles have ended and are not renewed. */
  age(accountId: string, months: number): Promise<void>
}

/** Opens a context: `await using context = await openMeteringContext()`. */
export async function openMeteringContext(poolSize = 10): Promise<MeteringContext> {
  const database = await createTestDatabase()
  const db = openDatabase({ url: database.url, poolSize, applicationName: 'test' })
  const metering = createMetering(db)
  return {
    url: database.url,
    db,
    metering,
    account: async (plan = 'free', timeZone = 'UTC') =>
      (await createAccount(db, { email: 'a@b.example', plan, timeZone })).id,
    age: async (accountId, months) => {
      await db.pool.query(
        `update credit_accounts set
           anchor = anchor - make_interval(months => $2),
           period_start = period_start - make_interval(months => $2),
           period_end = period_start - make_interval(months => $2 - 1)
         where account_id = $1`,
        [accountId, months],
      )
    },
    [Symbol.asyncDispose]: async () => {
      await metering[Symbol.asyncDispose]()
      await db[Symbol.asyncDispose]()
      await database[Symbol.asyncDispose]()
    },
  }
}
