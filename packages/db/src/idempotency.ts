import type { KeyMode } from '@plumbline/contract/plans'
import { sql } from 'kysely'
import { queryForCall, type Db, type Tx } from './database.ts'
import { hasState, SQLSTATE } from './sqlstate.ts'

/** Hours that a key is valid and its response is stored. Source: decision 16. */
export const KEY_HOURS = 24

/** Scope of an idempotency key. */
export interface IdempotencyScope {
  readonly accountId: string
  readonly mode: KeyMode
  readonly path: string
  /** HMAC of the header's value. */
  readonly key: string
}

/** A call that claims an idempotency key. */
export interface IdempotentCall extends IdempotencyScope {
  /** HMAC-SHA-256 of the request. */
  readonly fingerprint: Buffer
  /**
   * Identifies this run; equal to the operation key of its debit, so that a refund of the debit
   * frees the key.
   */
  readonly opKey: string
}

/** A stored response. */
export interface StoredResponse {
  readonly status: number
  readonly location: string | null
  /** Encrypted by the caller. */
  readonly body: string
}

/** A response to store, with the batch that it shows: it is erased with the batch. */
export type ResponseToStore = StoredResponse & { readonly batchId?: string | undefined }

/** Conditions under which a key that is held becomes free before its 24 hours are over. */
export interface KeyTerms {
  /** Maximum duration of a run in milliseconds. */
  readonly runMs: number
  /**
   * SQL of metering: whether the debit of the row `held`, which has an `account_id` and an `op_key`,
   * was refunded. The same for all calls of a process, as the statement is prepared by its name.
   */
  readonly isRefunded: string
}

/** Result of claiming a key: whether this run may work, and if not, why. */
export type KeyClaim =
  | { readonly kind: 'claimed' }
  | { readonly kind: 'answered'; readonly answer: StoredResponse }
  /** The key has a response, whose content was erased. */
  | { readonly kind: 'erased' }
  | { readonly kind: 'running' }
  | { readonly kind: 'mismatch' }

/**
 * Claims an idempotency key for a run, or returns the state of the first call with it. A key is
 * free after its 24 hours, once the debit of the run that holds it was refunded, and if that run
 * has not ended within `runMs`. A call whose transaction locks the key for two seconds counts as
 * running.
 *
 * @throws Error, temporary, if the connection broke or did not reply; the key may be claimed then
 */
export async function claimKey(db: Db, call: IdempotentCall, terms: KeyTerms): Promise<KeyClaim> {
  // The row of the other call can be gone by the time it is read; then the key is claimed again.
  for (let attempt = 0; attempt < 3; attempt += 1) {
    const taken = await take(db, call, terms)
    if (taken === 'locked') break
    if (taken) return { kind: 'claimed' }
    const held = await heldBy(db, call)
    if (held !== undefined) return held
  }
  return { kind: 'running' }
}

/** Milliseconds that a claim waits for another transaction that has the key. */
const LOCKED_MS = 2_000

/** Whether the key was free and is the call's now; `locked` if another transaction keeps it. */
async function take(db: Db, call: IdempotentCall, terms: KeyTerms): Promise<boolean | 'locked'> {
  try {
    const claimed = await queryForCall(db, {
      name: 'idempotency_claim',
      text: claim(terms),
      values: [
        call.accountId,
        call.mode,
        call.path,
        call.key,
        call.fingerprint,
        call.opKey,
        KEY_HOURS,
        terms.runMs,
        String(LOCKED_MS),
      ],
    })
    return claimed.length > 0
  } catch (error) {
    if (hasState(error, SQLSTATE.lockNotAvailable)) return 'locked'
    throw error
  }
}

/**
 * SQL: when a key that is held may be taken over; `runMs` is the parameter with the maximum
 * duration of a run.
 */
const freeAfter = ({ isRefunded }: KeyTerms, runMs: '$5' | '$8'): string => `
  held.expires_at <= now()
    or (held.status is null and (
      held.claimed_at <= now() - ${runMs} * interval '1 ms'
      or ${isRefunded}))`

// The limit ends with the statement. It is the server's own, so that no claim is made once the call
// has been refused.
const claim = (terms: KeyTerms): string => `
  insert into idempotency_keys as held
    (account_id, mode, path, key, fingerprint, op_key, claimed_at, expires_at)
  select $1, $2, $3, $4, $5, $6, now(), now() + $7 * interval '1 hour'
    from set_config('lock_timeout', $9, true)
  on conflict (account_id, mode, path, key) do update
  set fingerprint = excluded.fingerprint, op_key = excluded.op_key,
    claimed_at = excluded.claimed_at, expires_at = excluded.expires_at,
    status = null, location = null, body = null, batch_id = null
  where ${freeAfter(terms, '$8')}
  returning op_key`

/**
 * Whether a call with this key was answered or is running, so that another one would do no work.
 */
export async function isKeyHeld(
  db: Db,
  { accountId, mode, path, key }: IdempotencyScope,
  terms: KeyTerms,
): Promise<boolean> {
  const held = await queryForCall(db, {
    name: 'idempotency_held',
    text: heldNow(terms),
    values: [accountId, mode, path, key, terms.runMs],
  })
  return held.length > 0
}

const heldNow = (terms: KeyTerms): string => `
  select from idempotency_keys held
  where account_id = $1 and mode = $2 and path = $3 and key = $4 and not (${freeAfter(terms, '$5')})`

/** The columns that name the row of a key. */
function rowOf({ accountId, mode, path, key }: IdempotencyScope) {
  return { account_id: accountId, mode, path, key }
}

async function heldBy(db: Db, call: IdempotentCall): Promise<KeyClaim | undefined> {
  const row = await db.kysely
    .selectFrom('idempotency_keys')
    .select(['fingerprint', 'status', 'location', 'body'])
    .where((eb) => eb.and(rowOf(call)))
    .executeTakeFirst()
  if (row === undefined) return undefined
  if (!row.fingerprint.equals(call.fingerprint)) return { kind: 'mismatch' }
  const { status, location, body } = row
  if (status === null || body === null) return { kind: 'running' }
  if (body === ERASED) return { kind: 'erased' }
  return { kind: 'answered', answer: { status, location, body } }
}

/** Stores the response of a run; false if the run has lost its key meanwhile. */
export async function storeResponse(
  tx: Tx,
  call: IdempotentCall,
  { batchId, ...answer }: ResponseToStore,
): Promise<boolean> {
  const kept = await tx
    .updateTable('idempotency_keys')
    .set({
      ...answer,
      batch_id: batchId ?? null,
      expires_at: sql<Date>`now() + ${KEY_HOURS} * interval '1 hour'`,
    })
    .where((eb) => eb.and(rowOf(call)))
    .where('op_key', '=', call.opKey)
    .where('status', 'is', null)
    .executeTakeFirst()
  return kept.numUpdatedRows === 1n
}

/** Marks an erased response: the body of a stored response is never empty. */
const ERASED = ''

/**
 * Empties the stored responses that show a batch. Their keys stay taken, so that no repeat does the
 * work again.
 */
export async function eraseResponses(tx: Tx, batchId: string): Promise<void> {
  await tx
    .updateTable('idempotency_keys')
    .set({ body: ERASED, location: null })
    .where('batch_id', '=', batchId)
    .where('body', 'is not', null)
    .execute()
}

/** A stored response with its scope. */
export interface HeldResponse extends IdempotencyScope {
  /** Encrypted; null while the call runs, empty once erased. */
  readonly body: string | null
}

/**
 * Stored responses of an account after a position (mode, path and key of the one before), in that
 * order.
 */
export async function pageOfResponses(
  db: Db,
  owner: { readonly accountId: string; readonly modes: readonly KeyMode[] },
  after: readonly string[] | null,
  most: number,
): Promise<readonly HeldResponse[]> {
  const [mode = '', path = '', key = ''] = after ?? []
  const { rows } = await db.pool.query<HeldResponse>(
    `select account_id as "accountId", mode, path, key, body from idempotency_keys
     where account_id = $1 and mode = any($2) and (mode, path, key) > ($3, $4, $5)
     order by mode, path, key limit $6`,
    [owner.accountId, owner.modes, mode, path, key, most],
  )
  return rows
}

/**
 * Empties one stored response, unless another call has the key by now; the key stays taken. Returns
 * how many rows that were.
 */
export async function eraseResponse(tx: Tx, answer: HeldResponse): Promise<number> {
  const { numUpdatedRows } = await tx
    .updateTable('idempotency_keys')
    .set({ body: ERASED, location: null })
    .where((eb) => eb.and(rowOf(answer)))
    .where('body', '=', answer.body)
    .executeTakeFirst()
  return Number(numUpdatedRows)
}

/** Frees the key of a run that ended in a refusal or a failure. */
export async function freeKey(db: Db, call: IdempotentCall): Promise<void> {
  await db.kysely
    .deleteFrom('idempotency_keys')
    .where((eb) => eb.and(rowOf(call)))
    .where('op_key', '=', call.opKey)
    .where('status', 'is', null)
    .execute()
}
