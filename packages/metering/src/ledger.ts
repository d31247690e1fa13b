import { withoutBidiControls } from '@plumbline/contract/bidi-controls'
import type { LedgerEntry } from '@plumbline/contract/ledger'
import type { Db } from '@plumbline/db/database'
import { runStatement } from './statement.ts'

/** Position in the ledger: an entry, and the balance before it. */
export interface LedgerPosition {
  readonly before: number
  readonly balance: number
}

/** Entries, newest first, and the position of the next page; null if there are no more. */
export interface LedgerSlice {
  readonly entries: readonly LedgerEntry[]
  readonly next: LedgerPosition | null
}

interface EntryRow extends Omit<LedgerEntry, 'at' | 'balance'> {
  readonly id: number
  readonly at: Date
  readonly balance: number | null
}

/**
 * Reads entries of an account's ledger, newest first, each with the balance after it. Entries that
 * change a balance are numbered under its lock, so each page continues the balance of the one
 * before: the cost of a page does not depend on its position. Entries made since the first page are
 * not in later ones.
 *
 * @param place where the page before ended; undefined begins with the newest
 */
export async function readLedger(
  db: Db,
  accountId: string,
  { limit, place }: { readonly limit: number; readonly place: LedgerPosition | undefined },
): Promise<LedgerSlice> {
  const rows = await runStatement<EntryRow>(db, {
    name: 'metering.ledger',
    // The balance and the entries are of one snapshot.
    text: `
      select e.id, e.created_at as at, e.kind, e.allowance_delta + e.packs_delta as credits,
        e.held_delta as held, e.product, e.source,
        case when e.kind in ('hold', 'settle', 'release') then coalesce(b.sample_of, e.detail)
          end as batch_id,
        case when e.kind not in ('hold', 'settle', 'release') then e.detail end as detail,
        coalesce(b.name, b.file_name, s.name, s.file_name) as batch_name, c.allowance + c.packs as balance
      from credit_accounts c join lateral (
        select * from credit_entries e
        where e.account_id = c.account_id and e.id < $2
        order by e.id desc limit $3) e on true
      left join batches b on b.account_id = $1 and b.id = e.detail
        and e.kind in ('hold', 'settle', 'release')
      -- A sample is not shown itself, and has no name.
      left join batches s on s.id = b.sample_of
      where c.account_id = $1
      order by e.id desc`,
    values: [accountId, place?.before ?? Number.MAX_SAFE_INTEGER, limit + 1],
  })
  let balance = place?.balance ?? rows[0]?.balance ?? 0
  const entries: LedgerEntry[] = []
  let before = 0
  for (const { id, at, balance: _, batch_name: name, ...entry } of rows.slice(0, limit)) {
    const batch_name = name === null ? null : withoutBidiControls(name)
    entries.push({ at: at.toISOString(), ...entry, batch_name, balance })
    balance -= entry.credits
    before = id
  }
  return { entries, next: rows.length > limit ? { before, balance } : null }
}
