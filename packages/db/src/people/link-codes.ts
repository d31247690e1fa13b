import { sql } from 'kysely'
import { queriesOf, type Db, type Tx } from '../database.ts'
import type { LinkPurpose } from '../tables/people.ts'
import { lockUser } from './users.ts'

/** Purpose and owner of a single-use link. */
export interface LinkCode {
  readonly purpose: LinkPurpose
  readonly userId: string | null
  readonly accountId: string | null
  readonly emailKey: string | null
  /** Encrypted by the caller. */
  readonly detail: string | null
  readonly isLocalOnly: boolean
}

/** The columns of `LinkCode`. */
const LINK_CODE = [
  'purpose',
  'user_id as userId',
  'account_id as accountId',
  'email_key as emailKey',
  'detail',
  'local_only as isLocalOnly',
] as const

/** Stores the digest of a link's secret, valid for `minutes`. */
export async function insertLinkCode(
  tx: Db | Tx,
  code: LinkCode & { readonly digest: Buffer; readonly minutes: number },
): Promise<void> {
  await queriesOf(tx)
    .insertInto('link_codes')
    .values({
      digest: code.digest,
      purpose: code.purpose,
      user_id: code.userId,
      account_id: code.accountId,
      email_key: code.emailKey,
      detail: code.detail,
      local_only: code.isLocalOnly,
      expires_at: sql<Date>`now() + ${code.minutes} * interval '1 minute'`,
    })
    .execute()
}

/**
 * Uses up a secret and returns its link; of several concurrent callers one gets it. Its user, if it
 * has one, is locked before, for the rest of the transaction.
 */
export async function takeLinkCode(tx: Tx, digest: Buffer): Promise<LinkCode | undefined> {
  // As where all links of a user are deleted: first the user, then the links, so that neither waits
  // for the other.
  await tx
    .selectFrom('users')
    .select('id')
    .where('id', '=', (eb) =>
      eb.selectFrom('link_codes').select('user_id').where('digest', '=', digest),
    )
    .forNoKeyUpdate()
    .execute()
  return await tx
    .deleteFrom('link_codes')
    .where('digest', '=', digest)
    .where('expires_at', '>', sql<Date>`now()`)
    .returning(LINK_CODE)
    .executeTakeFirst()
}

/** The link of a secret, without using it up; undefined if it is used or expired. */
export async function findLinkCode(db: Db, digest: Buffer): Promise<LinkCode | undefined> {
  return await db.kysely
    .selectFrom('link_codes')
    .select(LINK_CODE)
    .where('digest', '=', digest)
    .where('expires_at', '>', sql<Date>`now()`)
    .executeTakeFirst()
}

/**
 * Invalidates the open links of a user, who is locked before for the rest of the transaction, of one
 * purpose if given.
 */
export async function deleteLinkCodes(
  tx: Tx,
  userId: string,
  purpose?: LinkPurpose,
): Promise<void> {
  await lockUser(tx, userId)
  let query = tx.deleteFrom('link_codes').where('user_id', '=', userId)
  if (purpose !== undefined) query = query.where('purpose', '=', purpose)
  await query.execute()
}

/** Invalidates the open links of an address, of one purpose. */
export async function deleteLinkCodesOfAddress(
  tx: Db | Tx,
  emailKey: string,
  purpose: LinkPurpose,
): Promise<void> {
  await queriesOf(tx)
    .deleteFrom('link_codes')
    .where('email_key', '=', emailKey)
    .where('purpose', '=', purpose)
    .execute()
}

/** Invalidates the open links of an account that are not bound to a user. */
export async function deleteLinkCodesOfAccount(tx: Db | Tx, accountId: string): Promise<void> {
  await queriesOf(tx)
    .deleteFrom('link_codes')
    .where('account_id', '=', accountId)
    .where('purpose', '=', 'welcome')
    .execute()
}

/** The newest open link of an address and purpose; undefined if there is none. */
export async function newestLinkCode(
  db: Db | Tx,
  emailKey: string,
  purpose: LinkPurpose,
): Promise<LinkCode | undefined> {
  return await queriesOf(db)
    .selectFrom('link_codes')
    .select(LINK_CODE)
    .where('email_key', '=', emailKey)
    .where('purpose', '=', purpose)
    .where('expires_at', '>', sql<Date>`now()`)
    .orderBy('created_at', 'desc')
    .limit(1)
    .executeTakeFirst()
}
