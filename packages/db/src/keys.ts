import type { AccountState, KeyMode, Plan } from '@plumbline/contract/plans'
import { Problem } from '@plumbline/contract/problem'
import { inTransaction, queriesOf, queryForCall, type Db, type Tx } from './database.ts'
import { newId } from './ids.ts'
import { digestOf, newKey, parseKey } from './keys-format.ts'
import { noteEvent } from './webhooks/events.ts'

/** A key without its secret, as it is listed. */
export interface KeyRecord {
  readonly id: string
  readonly accountId: string
  readonly mode: KeyMode
  /** `svc_live_`. */
  readonly prefix: string
  readonly last4: string
  readonly createdAt: Date
  readonly revokedAt: Date | null
  readonly lastUsedAt: Date | null
}

/** The columns of `KeyRecord`. */
const RECORD = [
  'id',
  'account_id as accountId',
  'mode',
  'prefix',
  'last4',
  'created_at as createdAt',
  'revoked_at as revokedAt',
  'last_used_at as lastUsedAt',
] as const

/** Data of an account that every call needs, by key or by session. */
export interface AccountStanding {
  readonly accountId: string
  readonly plan: Plan
  readonly status: AccountState
  /** Reason of the suspension, as shown to its members. */
  readonly statusReason: string | null
  readonly hasTestKeys: boolean
  /** Rate limit of the account or its plan; null: the setting of the installation. */
  readonly callsPerSecond: number | null
  readonly callsBurst: number | null
}

/** The account that a presented key belongs to. */
export interface KeyOwner extends AccountStanding {
  readonly keyId: string
  readonly mode: KeyMode
}

/** Columns of `AccountStanding`, selected from an account `a`. Needs `STANDING_TABLES`. */
export const STANDING = `a.id as "accountId", a.plan, a.status, a.status_reason as "statusReason",
  p.test_keys as "hasTestKeys", coalesce(l.calls_per_second, p.calls_per_second) as "callsPerSecond",
  coalesce(l.calls_burst, p.calls_burst) as "callsBurst"`

/** The tables that `STANDING` selects from. */
export const STANDING_TABLES = `accounts a join plans p on p.plan = a.plan
  left join account_limits l on l.account_id = a.id`

/**
 * Makes the account's key of a mode and revokes the older one in the same transaction.
 *
 * @param service - the prefix of the installation, for example `svc`
 * @returns the key, which cannot be shown again, its record, and the id of the older one where
 *   there was one
 * @throws Problem `forbidden` if the plan has no test keys, `not_found` if there is no account
 */
export async function createKey(
  db: Db | Tx,
  wanted: { accountId: string; mode: KeyMode; service: string },
): Promise<{ readonly key: string; readonly record: KeyRecord; readonly replaced: string | null }> {
  const key = newKey(wanted.service, wanted.mode)
  return await inTransaction(db, async (tx) => {
    // The lock serializes creations, so that none finds the other's active key.
    const account = await tx
      .selectFrom('accounts')
      .innerJoin('plans', 'plans.plan', 'accounts.plan')
      .select(['plans.test_keys', 'accounts.status'])
      .where('accounts.id', '=', wanted.accountId)
      .forNoKeyUpdate('accounts')
      .executeTakeFirst()
    if (account === undefined) throw new Problem('not_found', 'There is no such account.')
    if (account.status === 'closed') {
      throw new Problem('forbidden', 'The account is closed; it can have no key any more.')
    }
    if (wanted.mode === 'test' && !account.test_keys) {
      throw new Problem(
        'forbidden',
        'The plan of this account has no test keys; upgrade to create one.',
      )
    }
    const replaced = await revokeKey(tx, wanted)
    const record = await tx
      .insertInto('api_keys')
      .values({
        id: newId('key'),
        account_id: wanted.accountId,
        mode: wanted.mode,
        digest: digestOf(key),
        prefix: `${wanted.service}_${wanted.mode}_`,
        last4: key.slice(-4),
        revoked_at: null,
        last_used_at: null,
      })
      .returning(RECORD)
      .executeTakeFirstOrThrow()
    if (replaced !== null) {
      const { accountId } = wanted
      await noteEvent(tx, { accountId, type: 'key.replaced', subject: record.id })
    }
    return { key, record, replaced }
  })
}

/**
 * The account that a presented key belongs to; undefined if the key is malformed, unknown or
 * revoked. A wrong checksum costs no query. Always reads the database: a caller that caches the
 * result must drop it within a second.
 */
export async function findKey(db: Db, service: string, key: string): Promise<KeyOwner | undefined> {
  if (parseKey(service, key) === undefined) return undefined
  const rows = await queryForCall<KeyOwner>(db, {
    name: 'keys.find',
    text: `select k.id as "keyId", k.mode, ${STANDING}
      from api_keys k join (${STANDING_TABLES}) on a.id = k.account_id
      where k.digest = $1 and k.revoked_at is null`,
    values: [digestOf(key)],
  })
  return rows[0]
}

/**
 * Bytes of a key's digest in the filter of active keys: with a million keys, one wrong key in 280
 * million passes.
 */
export const KEY_MARK_BYTES = 6

/** Maximum number of active keys in the filter: 12 MB. */
const MARKS_MAX = 2_000_000

/**
 * The first bytes of the digests of all active keys, concatenated in order, as a filter for wrong
 * keys. Undefined if there are too many.
 */
export async function readKeyMarks(db: Db): Promise<Buffer | undefined> {
  const { rows } = await db.pool.query<{ count: number; marks: Buffer | null }>({
    name: 'keys.marks',
    text: `select count(*)::int, string_agg(substring(digest for $1), ''::bytea order by digest) as marks
      from (select digest from api_keys where revoked_at is null limit $2) as active`,
    values: [KEY_MARK_BYTES, MARKS_MAX + 1],
  })
  const [{ count, marks } = { count: 0, marks: null }] = rows
  return count > MARKS_MAX ? undefined : (marks ?? Buffer.alloc(0))
}

/** Every key of the account, also revoked ones, newest first. */
export async function listKeys(db: Db, accountId: string): Promise<readonly KeyRecord[]> {
  return await db.kysely
    .selectFrom('api_keys')
    .select(RECORD)
    .where('account_id', '=', accountId)
    .orderBy('created_at', 'desc')
    .limit(1_000)
    .execute()
}

/** One key of an account as it is listed; undefined if there is none. */
export async function findKeyRecord(
  db: Db | Tx,
  accountId: string,
  id: string,
): Promise<KeyRecord | undefined> {
  return await queriesOf(db)
    .selectFrom('api_keys')
    .select(RECORD)
    .where('id', '=', id)
    .where('account_id', '=', accountId)
    .executeTakeFirst()
}

/** Revokes the account's active key of a mode; returns its id, null if there was none. */
export async function revokeKey(
  db: Db | Tx,
  which: { accountId: string; mode: KeyMode },
): Promise<string | null> {
  const revoked = await queriesOf(db)
    .updateTable('api_keys')
    .set((eb) => ({ revoked_at: eb.fn<Date>('now') }))
    .where('account_id', '=', which.accountId)
    .where('mode', '=', which.mode)
    .where('revoked_at', 'is', null)
    .returning('id')
    .executeTakeFirst()
  return revoked?.id ?? null
}

/** Stores when keys were last used, to the minute, so that a busy key is written once a minute. */
export async function noteKeysUsed(db: Db, keyIds: readonly string[]): Promise<void> {
  await db.pool.query({
    name: 'keys.used',
    text: `update api_keys set last_used_at = now()
      where id = any ($1::text[]) and (last_used_at is null or last_used_at < now() - interval '1 minute')`,
    values: [[...new Set(keyIds)]],
  })
}
