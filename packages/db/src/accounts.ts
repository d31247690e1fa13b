import type { AccountState, Plan } from '@plumbline/contract/plans'
import { Problem } from '@plumbline/contract/problem'
import { sql } from 'kysely'
import { queriesOf, type Db, type Tx } from './database.ts'
import { newId } from './ids.ts'
import { requirePlan } from './offers.ts'
import { hasState, SQLSTATE } from './sqlstate.ts'

/** A paying account, with its plan and time zone. */
export interface Account {
  readonly id: string
  readonly email: string
  readonly plan: Plan
  /** The plan that the next billing cycle starts with; null if it stays the same. */
  readonly nextPlan: Plan | null
  /** IANA name. */
  readonly timeZone: string
  readonly createdAt: Date
  readonly status: AccountState
  /** Reason of the suspension. */
  readonly statusReason: string | null
}

/** The columns of `Account`. */
const ACCOUNT = [
  'id',
  'email',
  'plan',
  'next_plan as nextPlan',
  'time_zone as timeZone',
  'created_at as createdAt',
  'status',
  'status_reason as statusReason',
] as const

/** Input of `createAccount`. */
export interface NewAccount {
  readonly email: string
  readonly plan: Plan
  /** Default `UTC`. */
  readonly timeZone?: string
  /** Display name; the address of the account if absent. */
  readonly name?: string
  /** Chosen by the caller with `newId`, so that a request sent twice creates one account. */
  readonly id?: string
  /**
   * Whether the first billing cycle starts without credits; later ones get the allowance of the
   * plan.
   */
  readonly opensEmpty?: boolean
}

/**
 * Inserts an account. A trigger opens its balance in the same statement, with the allowance of the
 * first cycle if it has one. `db` may be a transaction.
 *
 * @throws Problem `unprocessable` if the time zone is not an IANA name that Postgres knows, the email
 * is empty or the plan does not exist; `conflict` if the id is taken
 */
export async function createAccount(db: Db | Tx, account: NewAccount): Promise<Account> {
  const timeZone = account.timeZone ?? 'UTC'
  await requireTimeZone(db, timeZone)
  if (account.email.length === 0 || account.email.length > 320) {
    throw new Problem('unprocessable', 'The email of an account has 1 to 320 characters.')
  }
  await requirePlan(db, account.plan)
  const made = await queriesOf(db)
    .insertInto('accounts')
    .values({
      id: account.id ?? newId('acc'),
      email: account.email,
      plan: account.plan,
      next_plan: null,
      time_zone: timeZone,
      name: account.name ?? null,
      opens_empty: account.opensEmpty ?? false,
    })
    .onConflict((at) => at.column('id').doNothing())
    .returning(ACCOUNT)
    .executeTakeFirst()
  if (made === undefined) {
    throw new Problem('conflict', 'This account exists already; nothing was created.')
  }
  return made
}

/** The account of an id; undefined if there is none. */
export async function getAccount(db: Db | Tx, id: string): Promise<Account | undefined> {
  return await queriesOf(db)
    .selectFrom('accounts')
    .select(ACCOUNT)
    .where('id', '=', id)
    .executeTakeFirst()
}

/** Preferences that an owner may set for an account. */
export interface AccountPreferences {
  /** Display name; null: the address. */
  readonly name: string | null
  readonly timeZone: string
  /**
   * Days that files and results of a batch are kept unless the upload says otherwise; null: the
   * setting of the installation.
   */
  readonly retentionDays: number | null
  /** Whether members without a second factor can only read. */
  readonly requiresFactor: boolean
}

/** The preferences of an account; undefined if there is no such account. */
export async function readPreferences(
  db: Db | Tx,
  id: string,
): Promise<(AccountPreferences & { readonly email: string }) | undefined> {
  return await queriesOf(db)
    .selectFrom('accounts')
    .select(['name', 'email', 'time_zone as timeZone', 'retention_days as retentionDays'])
    .select('requires_second_factor as requiresFactor')
    .where('id', '=', id)
    .executeTakeFirst()
}

/**
 * Sets the given preferences and leaves the others.
 *
 * @throws Problem `unprocessable` if the time zone is not an IANA name that Postgres knows
 */
export async function setPreferences(
  tx: Tx,
  id: string,
  change: { readonly [K in keyof AccountPreferences]?: AccountPreferences[K] | undefined },
): Promise<void> {
  const { timeZone } = change
  if (timeZone !== undefined) await requireTimeZone(tx, timeZone)
  const set = {
    ...(change.name === undefined ? {} : { name: change.name }),
    ...(timeZone === undefined ? {} : { time_zone: timeZone }),
    ...(change.retentionDays === undefined ? {} : { retention_days: change.retentionDays }),
    ...(change.requiresFactor === undefined
      ? {}
      : { requires_second_factor: change.requiresFactor }),
  }
  if (Object.keys(set).length === 0) return
  await tx.updateTable('accounts').set(set).where('id', '=', id).execute()
}

/** Sets the email address and name of an account's owner. */
export async function setAccountContact(
  tx: Tx,
  id: string,
  contact: { readonly email: string; readonly name: string },
): Promise<void> {
  await tx.updateTable('accounts').set(contact).where('id', '=', id).execute()
}

/**
 * Locks an account for the rest of the transaction, so that counts of its rows hold until the
 * commit. Rows that reference it can still be written.
 */
export async function lockAccount(tx: Tx, id: string): Promise<void> {
  await tx
    .selectFrom('accounts')
    .select('id')
    .where('id', '=', id)
    .forNoKeyUpdate()
    .executeTakeFirstOrThrow()
}

/**
 * Accounts, oldest first, at most `limit`.
 *
 * @param search a part of an email, or an id; all if left out
 */
export async function listAccounts(
  db: Db | Tx,
  limit: number,
  search?: string,
): Promise<readonly Account[]> {
  let query = queriesOf(db).selectFrom('accounts').select(ACCOUNT)
  if (search !== undefined) {
    const text = search.toLowerCase()
    query = query.where((eb) =>
      eb.or([
        eb('id', '=', search),
        eb(eb.fn('strpos', [eb.fn('lower', ['email']), eb.val(text)]), '>', 0),
      ]),
    )
  }
  return await query.orderBy('created_at').orderBy('id').limit(limit).execute()
}

/**
 * Refuses a time zone that Node or Postgres does not know. Each has a list of its own, of another
 * year: Postgres turns days and cycles, and a name that it lacks would fail every debit.
 *
 * @throws Problem `unprocessable`
 */
async function requireTimeZone(db: Db | Tx, name: string): Promise<void> {
  const refusal = new Problem(
    'unprocessable',
    `"${name}" is not a time zone; send an IANA name such as Europe/Berlin.`,
  )
  if (!isTimeZone(name)) throw refusal
  try {
    await sql`select now() at time zone ${name}::text`.execute(queriesOf(db))
  } catch (error) {
    throw hasState(error, SQLSTATE.invalidParameter) ? refusal : error
  }
}

function isTimeZone(name: string): boolean {
  // Offsets are not names; UTC is a name without an area.
  if (name !== 'UTC' && !/^[A-Z][A-Za-z_]+(\/[A-Za-z0-9_+-]+)+$/.test(name)) return false
  try {
    return Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}
