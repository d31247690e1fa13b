import type { Plan } from '@plumbline/contract/plans'
import { Problem } from '@plumbline/contract/problem'
import { queriesOf, type Db, type Tx } from './database.ts'
import { newId } from './ids.ts'

/** Who pays, and by which plan and calendar. */
export interface Account {
  readonly id: string
  readonly email: string
  readonly plan: Plan
  /** What the next billing cycle starts with; null where it stays. */
  readonly nextPlan: Plan | null
  /** IANA name. */
  readonly timeZone: string
  readonly createdAt: Date
}

/** What an account is made of. */
export interface NewAccount {
  readonly email: string
  readonly plan: Plan
  /** Default `UTC`. */
  readonly timeZone?: string
}

/**
 * Inserts an account; the database opens its balance with the first cycle's allowance in the same
 * moment. Takes a transaction or the pool.
 *
 * @throws Problem `unprocessable` where the time zone is not an IANA name or the email is empty
 */
export async function createAccount(db: Db | Tx, account: NewAccount): Promise<Account> {
  const timeZone = account.timeZone ?? 'UTC'
  if (!isTimeZone(timeZone)) {
    throw new Problem(
      'unprocessable',
      `"${timeZone}" is not a time zone; send an IANA name such as Europe/Berlin.`,
    )
  }
  if (account.email.length === 0 || account.email.length > 320) {
    throw new Problem('unprocessable', 'The email of an account has 1 to 320 characters.')
  }
  const row = await queriesOf(db)
    .insertInto('accounts')
    .values({
      id: newId('acc'),
      email: account.email,
      plan: account.plan,
      next_plan: null,
      time_zone: timeZone,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
  return accountOf(row)
}

/** The account of an id; undefined where there is none. */
export async function getAccount(db: Db | Tx, id: string): Promise<Account | undefined> {
  const row = await queriesOf(db)
    .selectFrom('accounts')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirst()
  return row && accountOf(row)
}

/**
 * Locks an account for the rest of the transaction, so that what is counted of it holds until the commit;
 * rows that point to it can still be written.
 */
export async function lockAccount(tx: Tx, id: string): Promise<void> {
  await tx
    .selectFrom('accounts')
    .select('id')
    .where('id', '=', id)
    .forNoKeyUpdate()
    .executeTakeFirstOrThrow()
}

/** All accounts, oldest first, at most `limit`. */
export async function listAccounts(db: Db | Tx, limit: number): Promise<readonly Account[]> {
  const rows = await queriesOf(db)
    .selectFrom('accounts')
    .selectAll()
    .orderBy('created_at')
    .orderBy('id')
    .limit(limit)
    .execute()
  return rows.map(accountOf)
}

function accountOf(row: {
  id: string
  email: string
  plan: Plan
  next_plan: Plan | null
  time_zone: string
  created_at: Date
}): Account {
  return {
    id: row.id,
    email: row.email,
    plan: row.plan,
    nextPlan: row.next_plan,
    timeZone: row.time_zone,
    createdAt: row.created_at,
  }
}

function isTimeZone(name: string): boolean {
  // Offsets and the like are not names; UTC is one that has no area.
  if (name !== 'UTC' && !/^[A-Z][A-Za-z_]+(\/[A-Za-z0-9_+-]+)+$/.test(name)) return false
  try {
    return Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}
