import { sql } from 'kysely'
import type { Tx } from './database.ts'

interface Column {
  readonly table: string
  /** The column that identifies a row, and its type. */
  readonly id: string
  readonly idType: 'text' | 'bytea' | 'bigint'
  readonly column: string
}

/**
 * Columns encrypted under the installation's key whose content only this installation has: lost
 * with the key, it would have to be entered again. Tables whose rows are named by an HMAC are not
 * listed, since another key gives other names.
 */
const SEALED_COLUMNS = {
  webhookSecret: { table: 'webhook_endpoints', id: 'id', idType: 'text', column: 'secret' },
  webhookOldSecret: { table: 'webhook_endpoints', id: 'id', idType: 'text', column: 'old_secret' },
  webhookOlderSecret: {
    table: 'webhook_endpoints',
    id: 'id',
    idType: 'text',
    column: 'older_secret',
  },
  secondFactor: { table: 'users', id: 'id', idType: 'text', column: 'totp_secret' },
  mail: { table: 'mails', id: 'id', idType: 'bigint', column: 'sealed' },
  link: { table: 'link_codes', id: 'digest', idType: 'bytea', column: 'detail' },
  erasure: { table: 'erasures', id: 'id', idType: 'text', column: 'target' },
} as const satisfies Readonly<Record<string, Column>>

/** A kind of data that is encrypted under the installation's key. */
export type SealedKind = keyof typeof SEALED_COLUMNS

/**
 * How many values of a kind were re-encrypted, and how many stay because the old key cannot decrypt
 * them.
 */
export interface ReencryptedCounts {
  readonly reencryptedCount: number
  readonly unreadCount: number
}

/** Maximum number of rows in memory. */
const PAGE_ROWS = 500

/**
 * Re-encrypts each value of a kind, a page at a time.
 *
 * @param reencrypt returns the new value for the row `id`; undefined if the old one cannot be
 * decrypted and stays
 */
export async function reencryptColumn(
  tx: Tx,
  kind: SealedKind,
  reencrypt: (sealed: string, id: string) => string | undefined,
): Promise<ReencryptedCounts> {
  const place: Column = SEALED_COLUMNS[kind]
  const [id, column, table] = [sql.ref(place.id), sql.ref(place.column), sql.table(place.table)]
  await sql`declare sealed_values no scroll cursor for
    select ${id}::text as id, ${column} as sealed from ${table} where ${column} is not null
  `.execute(tx)
  let [reencryptedCount, unreadCount] = [0, 0]
  for (;;) {
    const { rows } = await sql<{ id: string; sealed: string }>`
      fetch ${sql.lit(PAGE_ROWS)} from sealed_values`.execute(tx)
    if (rows.length === 0) break
    const changed = rows.flatMap((row) => {
      const sealed = reencrypt(row.sealed, row.id)
      return sealed === undefined ? [] : [{ id: row.id, sealed }]
    })
    await sql`
      update ${table} set ${column} = changed.sealed
      from unnest(${changed.map((row) => row.id)}::text[], ${changed.map((row) => row.sealed)}::text[])
        as changed (row_id, sealed)
      where ${sql.ref(`${place.table}.${place.id}`)} = changed.row_id::${sql.raw(place.idType)}
    `.execute(tx)
    reencryptedCount += changed.length
    unreadCount += rows.length - changed.length
  }
  await sql`close sealed_values`.execute(tx)
  return { reencryptedCount, unreadCount }
}
