import { sql, type Selectable } from 'kysely'
import { queriesOf, type Db, type Tx } from '../database.ts'
import { newId } from '../ids.ts'
import { hasState, SQLSTATE } from '../sqlstate.ts'
import type { UserRow } from '../tables/people.ts'

/** A person who signs in. */
export interface User {
  readonly id: string
  readonly name: string
  readonly email: string
  readonly emailKey: string
  /** Argon2id, PHC string format. */
  readonly passwordDigest: string
  readonly isVerified: boolean
  /** The encrypted secret of the second factor, if one is active. */
  readonly factor: string | null
  /** The encrypted secret of a factor that is being set up and not confirmed yet. */
  readonly factorBegun: string | null
  readonly isOperator: boolean
}

/** Input of `insertUser`. */
export interface NewUser {
  readonly name: string
  readonly email: string
  readonly emailKey: string
  readonly passwordDigest: string
  readonly verified: boolean
}

/** Inserts a user; undefined if the address is taken. */
export async function insertUser(tx: Tx, user: NewUser): Promise<User | undefined> {
  const row = await tx
    .insertInto('users')
    .values({
      id: newId('usr'),
      name: user.name,
      email: user.email,
      email_key: user.emailKey,
      password_digest: user.passwordDigest,
      verified_at: user.verified ? sql<Date>`now()` : null,
      totp_secret: null,
      totp_confirmed_at: null,
      totp_used_step: null,
    })
    .onConflict((conflict) => conflict.column('email_key').doNothing())
    .returningAll()
    .executeTakeFirst()
  return row && userOf(row)
}

/** The user of an address; undefined if there is none. */
export async function findUser(db: Db | Tx, emailKey: string): Promise<User | undefined> {
  const row = await queriesOf(db)
    .selectFrom('users')
    .selectAll()
    .where('email_key', '=', emailKey)
    .executeTakeFirst()
  return row && userOf(row)
}

/**
 * The user of an id.
 *
 * @throws if there is none
 */
export async function getUser(db: Db | Tx, id: string): Promise<User> {
  const row = await queriesOf(db)
    .selectFrom('users')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  return userOf(row)
}

/** Addresses of users by id; unknown ids are left out. */
export async function readEmails(
  db: Db,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (ids.length === 0) return new Map()
  const rows = await db.kysely
    .selectFrom('users')
    .select(['id', 'email'])
    .where('id', 'in', ids)
    .execute()
  return new Map(rows.map(({ id, email }) => [id, email]))
}

/**
 * Locks a user for the rest of the transaction and reads it, so that concurrent changes run one
 * after the other.
 */
export async function lockUser(tx: Tx, id: string): Promise<User> {
  const row = await tx
    .selectFrom('users')
    .selectAll()
    .where('id', '=', id)
    .forNoKeyUpdate()
    .executeTakeFirstOrThrow()
  return userOf(row)
}

/** Changes the name of a user. */
export async function renameUser(db: Db | Tx, id: string, name: string): Promise<void> {
  await queriesOf(db).updateTable('users').set({ name }).where('id', '=', id).execute()
}

/** Changes the password of a user. */
export async function setPassword(tx: Db | Tx, id: string, passwordDigest: string): Promise<void> {
  await queriesOf(tx)
    .updateTable('users')
    .set({ password_digest: passwordDigest })
    .where('id', '=', id)
    .execute()
}

/** Records that a user has confirmed the email address. */
export async function setVerified(tx: Db | Tx, id: string): Promise<void> {
  await queriesOf(tx)
    .updateTable('users')
    .set({ verified_at: sql<Date>`coalesce(verified_at, now())` })
    .where('id', '=', id)
    .execute()
}

/** Changes the address of a user; false if it is taken. */
export async function setEmail(
  tx: Tx,
  id: string,
  address: { readonly email: string; readonly emailKey: string; readonly verified: boolean },
): Promise<boolean> {
  const { email, emailKey, verified } = address
  const taken = await tx
    .selectFrom('users')
    .select('id')
    .where('email_key', '=', emailKey)
    .where('id', '<>', id)
    .executeTakeFirst()
  if (taken !== undefined) return false
  try {
    await tx
      .updateTable('users')
      .set({ email, email_key: emailKey, verified_at: verified ? sql<Date>`now()` : null })
      .where('id', '=', id)
      .execute()
    return true
  } catch (error) {
    // Taken by another user between the two statements; the transaction is aborted and its owner
    // gets the refusal.
    if (hasState(error, SQLSTATE.uniqueViolation)) return false
    throw error
  }
}

/**
 * Stores a second factor that becomes active once confirmed; the current one stays active until
 * then.
 */
export async function beginFactor(tx: Tx, id: string, sealedSecret: string): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('users')
    .set({ totp_secret: sealedSecret, totp_used_step: null })
    .where('id', '=', id)
    .where('totp_confirmed_at', 'is', null)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Activates the second factor that is being set up, with the digests of its recovery codes. */
export async function confirmFactor(tx: Tx, id: string, codes: readonly Buffer[]): Promise<void> {
  await tx
    .updateTable('users')
    .set({ totp_confirmed_at: sql<Date>`now()` })
    .where('id', '=', id)
    .execute()
  await tx.deleteFrom('recovery_codes').where('user_id', '=', id).execute()
  await tx
    .insertInto('recovery_codes')
    .values(codes.map((digest) => ({ user_id: id, digest })))
    .execute()
}

/** Removes the second factor of a user. */
export async function removeFactor(tx: Tx, id: string): Promise<void> {
  await tx
    .updateTable('users')
    .set({ totp_secret: null, totp_confirmed_at: null, totp_used_step: null })
    .where('id', '=', id)
    .execute()
  await tx.deleteFrom('recovery_codes').where('user_id', '=', id).execute()
}

/** Uses up the time step of a code; false if it, or a later one, was used before. */
export async function useStep(db: Db | Tx, id: string, step: number): Promise<boolean> {
  const { numUpdatedRows } = await queriesOf(db)
    .updateTable('users')
    .set({ totp_used_step: step })
    .where('id', '=', id)
    .where((eb) => eb.or([eb('totp_used_step', 'is', null), eb('totp_used_step', '<', step)]))
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Uses up a recovery code; false if there is no such code. */
export async function useRecoveryCode(db: Db | Tx, id: string, digest: Buffer): Promise<boolean> {
  const { numDeletedRows } = await queriesOf(db)
    .deleteFrom('recovery_codes')
    .where('user_id', '=', id)
    .where('digest', '=', digest)
    .executeTakeFirst()
  return numDeletedRows > 0n
}

/** Sets whether a user may see the operator's pages. */
export async function setOperator(tx: Tx, id: string, isOperator: boolean): Promise<void> {
  await tx.updateTable('users').set({ is_operator: isOperator }).where('id', '=', id).execute()
}

/** Whether there is any user. */
export async function hasUsers(db: Db | Tx): Promise<boolean> {
  const row = await queriesOf(db).selectFrom('users').select('id').limit(1).executeTakeFirst()
  return row !== undefined
}

function userOf(row: Selectable<UserRow>): User {
  const isConfirmed = row.totp_confirmed_at !== null
  return {
    id: row.id,
    name: row.name,
    email: row.email,
    emailKey: row.email_key,
    passwordDigest: row.password_digest,
    isVerified: row.verified_at !== null,
    factor: isConfirmed ? row.totp_secret : null,
    factorBegun: isConfirmed ? null : row.totp_secret,
    isOperator: row.is_operator,
  }
}
