import { UNFINISHED_STATES } from '@plumbline/contract/batch'
import type { Product } from '@plumbline/contract/products'
import { queriesOf, type Db, type Tx } from '@plumbline/db/database'
import { sql } from 'kysely'

/** An open hold whose batch has ended, or does not exist. */
export interface StrayHold {
  readonly accountId: string
  readonly ref: string
}

/** Holds that no batch will release any more, oldest first. */
export async function strayHolds(db: Db, most: number): Promise<readonly StrayHold[]> {
  const { rows } = await sql<StrayHold>`
    select h.account_id as "accountId", h.ref
    from credit_holds h left join batches b on b.id = h.ref
    where h.closed_at is null and (b.id is null or b.status <> all(${[...UNFINISHED_STATES]}::text[]))
    order by h.created_at, h.account_id, h.ref limit ${most}
  `.execute(queriesOf(db))
  return rows
}

/** The product that a hold was made for; undefined if it was made without one. */
export async function productOfHold(
  tx: Tx,
  { accountId, ref }: StrayHold,
): Promise<Product | undefined> {
  const { rows } = await sql<{ product: Product | null }>`
    select product from credit_holds where account_id = ${accountId} and ref = ${ref}
  `.execute(tx)
  return rows[0]?.product ?? undefined
}
