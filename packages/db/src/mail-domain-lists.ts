import { hash } from 'node:crypto'
import type { Db } from './database.ts'

/** Bytes of a name's hash that are stored: enough to tell a million names apart. */
const MARK_BYTES = 8

/** Reference lists of domain names as they are stored: the hashes of all names, sorted. */
export interface MailDomainMarks {
  readonly disposable: Buffer
  readonly free: Buffer
}

/** Stores the reference lists that a worker has loaded, if they differ from the stored ones. */
export async function writeMailDomainLists(
  db: Db,
  version: string,
  lists: () => { readonly disposable: Iterable<string>; readonly free: Iterable<string> },
): Promise<void> {
  const { rowCount } = await db.pool.query('select from mail_domain_lists where version = $1', [
    version,
  ])
  if (rowCount !== 0) return
  const { disposable, free } = lists()
  await db.pool.query(
    `insert into mail_domain_lists (version, disposable, free) values ($1, $2, $3)
     on conflict (only_one) do update set version = $1, disposable = $2, free = $3, noted_at = now()`,
    [version, marksOf(disposable), marksOf(free)],
  )
}

/** The stored lists; undefined until a worker has run. */
export async function readMailDomainLists(db: Db): Promise<MailDomainMarks | undefined> {
  const { rows } = await db.pool.query<MailDomainMarks>(
    'select disposable, free from mail_domain_lists',
  )
  return rows[0]
}

/** Whether a name is in a list, by binary search. */
export function isMarked(marks: Buffer, name: string): boolean {
  const mark = markOf(name)
  let low = 0
  let high = marks.length / MARK_BYTES
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const at = middle * MARK_BYTES
    const order = mark.compare(marks, at, at + MARK_BYTES)
    if (order === 0) return true
    if (order < 0) high = middle
    else low = middle + 1
  }
  return false
}

function marksOf(names: Iterable<string>): Buffer {
  // Sorting them as numbers takes a tenth of the time that buffers take.
  const marks = BigUint64Array.from(new Set(names), (name) => markOf(name).readBigUInt64BE())
  const bytes = Buffer.allocUnsafe(marks.length * MARK_BYTES)
  for (const [at, mark] of marks.toSorted().entries()) bytes.writeBigUInt64BE(mark, at * MARK_BYTES)
  return bytes
}

function markOf(name: string): Buffer {
  return hash('sha256', name, 'buffer').subarray(0, MARK_BYTES)
}
