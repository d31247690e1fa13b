import type { ErasureCounts } from '@plumbline/contract/erasure'
import type { Json } from '@plumbline/contract/outcome'
import type { KeyMode } from '@plumbline/contract/plans'
import { sql, type Selectable } from 'kysely'
import { lockAccount } from './accounts.ts'
import { queriesOf, type Db, type Tx } from './database.ts'
import { newId } from './ids.ts'
import { jsonbText } from './jsonb.ts'
import type { ErasuresTable } from './tables/erasures.ts'

/** A row of `erasures`. */
export type ErasureRow = Readonly<Selectable<ErasuresTable>>

/** Generates the id of an erasure that is about to be created. */
export function newErasureId(): string {
  return newId('ers')
}

/** Stores an erasure request; a worker finds it by polling. */
export async function createErasure(
  tx: Tx,
  erasure: {
    readonly id: string
    readonly accountId: string
    readonly mode: KeyMode
    readonly valueCount: number
    readonly includeAddresses: boolean
    /** Encrypted. */
    readonly target: string
    readonly place: Json
  },
): Promise<ErasureRow> {
  return await tx
    .insertInto('erasures')
    .values({
      id: erasure.id,
      account_id: erasure.accountId,
      mode: erasure.mode,
      value_count: erasure.valueCount,
      include_addresses: erasure.includeAddresses,
      target: erasure.target,
      place: jsonbText(erasure.place),
    })
    .returningAll()
    .executeTakeFirstOrThrow()
}

/**
 * How many erasures of an account are under way; concurrent callers wait for the end of the
 * transaction.
 */
export async function countRunningErasures(tx: Tx, accountId: string): Promise<number> {
  await lockAccount(tx, accountId)
  const row = await tx
    .selectFrom('erasures')
    .select(({ fn }) => fn.countAll<number>().as('running'))
    .where('account_id', '=', accountId)
    .where('status', '=', 'running')
    .executeTakeFirstOrThrow()
  return row.running
}

/** An erasure of an account; undefined if there is none. */
export async function findErasure(
  db: Db,
  owner: { readonly accountId: string; readonly mode: KeyMode },
  id: string,
): Promise<ErasureRow | undefined> {
  return await db.kysely
    .selectFrom('erasures')
    .selectAll()
    .where('id', '=', id)
    .where('account_id', '=', owner.accountId)
    .where('mode', '=', owner.mode)
    .executeTakeFirst()
}

/** A page of an owner's erasures, newest first, from the newest or after the given id. */
export async function pageOfErasures(
  db: Db,
  owner: { readonly accountId: string; readonly mode: KeyMode },
  page: { readonly limit: number; readonly after: string | undefined },
): Promise<readonly ErasureRow[]> {
  const query = db.kysely
    .selectFrom('erasures')
    .selectAll()
    .where('account_id', '=', owner.accountId)
    .where('mode', '=', owner.mode)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(page.limit)
  if (page.after === undefined) return await query.execute()
  const behind = sql<boolean>`(created_at, id) < (
    select last.created_at, last.id from erasures last where last.id = ${page.after})`
  return await query.where(behind).execute()
}

/** An erasure whose lease this process holds. */
export interface ClaimedErasure extends ErasureRow {
  /** How often its progress was stored. */
  readonly saves: number
}

/** How often the progress of an erasure was stored; kept with the progress. */
const SAVES = sql`coalesce((place->>'saves')::int, 0)`

/**
 * Leases the oldest erasure of the account whose last turn was longest ago, by database time;
 * undefined if none may be worked on. A turn ends when an erasure is completed or postponed.
 */
export async function claimErasure(db: Db, leaseMs: number): Promise<ClaimedErasure | undefined> {
  const { rows } = await sql<ClaimedErasure>`
    update erasures
    set lease = lease + 1, lease_until = clock_timestamp() + ${leaseMs} * interval '1 ms'
    where id = (
      select id from erasures next where status = 'running' and lease_until < clock_timestamp()
      order by (
        select max(turn.lease_until) from erasures turn where turn.account_id = next.account_id
      ), created_at, id limit 1 for update skip locked)
    returning *, ${SAVES} as saves
  `.execute(queriesOf(db))
  return rows[0]
}

/** The fencing number that all writes of an erasure carry. */
export interface ErasureLease {
  readonly id: string
  readonly lease: number
}

/** Extends the lease of an erasure; false if another worker has it. */
export async function renewErasure(
  db: Db,
  { id, lease }: ErasureLease,
  leaseMs: number,
): Promise<boolean> {
  const { rowCount } = await db.pool.query(
    `update erasures set lease_until = clock_timestamp() + $3 * interval '1 ms'
     where id = $1 and lease = $2 and status = 'running'`,
    [id, lease, leaseMs],
  )
  return rowCount === 1
}

/**
 * Thrown if another worker has the erasure, its account is gone, or a failover lost an earlier step:
 * the transaction is rolled back.
 */
export class ErasureLost extends Error {}

/** The fencing number of an erasure, and how often its progress was stored before. */
export interface SavedErasure extends ErasureLease {
  readonly saves: number
}

/**
 * Stores the progress of an erasure, in the transaction that made it. What an earlier one stored
 * must still be there.
 *
 * @throws ErasureLost
 */
export async function noteErasure(
  db: Db | Tx,
  { id, lease, saves }: SavedErasure,
  place: Json,
  counts: Partial<ErasureCounts>,
): Promise<void> {
  const { rows } = await sql`
    update erasures
    set place = ${jsonbText(place)}::jsonb || jsonb_build_object('saves', ${saves}::int + 1),
      counts = counts || (select coalesce(jsonb_object_agg(key,
          value::bigint + coalesce((counts->>key)::bigint, 0)), '{}')
        from jsonb_each_text(${jsonbText(counts)}::jsonb))
    where id = ${id} and lease = ${lease} and status = 'running' and ${SAVES} = ${saves}
    returning 1
  `.execute(queriesOf(db))
  if (rows.length === 0) throw new ErasureLost('another worker has the erasure, or a step is lost')
}

/** Returns an erasure, to be continued after a delay: that is when its lease ends. */
export async function postponeErasure(
  db: Db,
  erasure: ErasureLease,
  delayMs: number,
): Promise<void> {
  await renewErasure(db, erasure, delayMs)
}

/**
 * Completes an erasure and deletes the values that it searched for.
 *
 * @throws ErasureLost
 */
export async function completeErasure(db: Db, { id, lease, saves }: SavedErasure): Promise<void> {
  const { rows } = await sql`
    update erasures
    set status = 'completed', completed_at = clock_timestamp(), lease_until = clock_timestamp(),
      target = null, place = '{}'
    where id = ${id} and lease = ${lease} and status = 'running' and ${SAVES} = ${saves}
    returning 1
  `.execute(queriesOf(db))
  if (rows.length === 0) throw new ErasureLost('another worker has the erasure, or a step is lost')
}
