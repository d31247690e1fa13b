import { setTimeout as wait } from 'node:timers/promises'
import { LARGE_ROWS, sumsOfPage, sumsOfRows } from '@plumbline/db/batches/sums'
import type { BatchPage, BatchView } from '@plumbline/contract/batch-view'
import { UNFINISHED_STATES, type BatchState } from '@plumbline/contract/batch'
import { pageOfBatches, type BatchOwner, type BatchRow } from '@plumbline/db/batches/rows'
import type { ShownBatch } from '@plumbline/db/batches/shown-columns'
import type { Db, Tx } from '@plumbline/db/database'
import { readBatchOf } from './batch-access.ts'
import { cursorOf, placeOf } from './page-cursor.ts'
import type { Pipeline } from './pipeline.ts'
import { batchViewOf } from './view.ts'

/**
 * One batch of an account.
 *
 * @throws Problem `not_found`, also for an id of another account
 */
export async function getBatch(
  pipeline: Pipeline,
  owner: BatchOwner,
  id: string,
): Promise<BatchView> {
  return await viewOf(pipeline.db, await readBatchOf(pipeline.db, owner, id))
}

/** A batch as the API shows it. */
export async function viewOf(db: Db, row: ShownBatch): Promise<BatchView> {
  return batchViewOf(row, (await sumsOfRows(db, [row])).get(row.id))
}

/** Batches as the API shows them, by id. */
export async function viewsOf(
  db: Db | Tx,
  rows: readonly BatchRow[],
): Promise<ReadonlyMap<string, BatchView>> {
  const sums = await sumsOfRows(db, rows)
  return new Map(rows.map((row) => [row.id, batchViewOf(row, sums.get(row.id))]))
}

/**
 * Batches of an account, newest first. With a filter, a page may have fewer batches than its limit
 * although more follow.
 *
 * @throws Problem `bad_request` for a cursor of another account
 */
export async function listBatches(
  pipeline: Pipeline,
  owner: BatchOwner,
  page: {
    limit: number
    cursor: string | undefined
    states?: readonly BatchState[]
    search?: string | undefined
  },
): Promise<BatchPage> {
  const { rows, next } = await pageOfBatches(pipeline.db, owner, {
    limit: page.limit,
    after: page.cursor === undefined ? undefined : placeOf(owner, page.cursor),
    search: page.search,
    ...(page.states === undefined ? {} : { states: page.states }),
  })
  const sums = await sumsOfPage(pipeline.db, rows)
  return {
    data: rows.map((row) => batchViewOf(row, sums.get(row.id))),
    next_cursor: next === null ? null : cursorOf(owner, next),
  }
}

/**
 * Reads one batch, or shares the result of another caller's recent read; returns and throws the
 * same as `getBatch`.
 */
export type ReadBatch = (
  owner: BatchOwner,
  id: string,
  reading: 'fresh' | 'shared',
) => Promise<BatchView>

/**
 * Creates a reader that queries each batch at most once in `everyMs`, however many callers share
 * it.
 */
export function shareReads(read: BatchReader, everyMs: number): ReadBatch {
  const views = createSharedReads<BatchView>(everyMs)
  return async (owner, id, reading) => {
    const key = `${owner.accountId} ${owner.mode} ${id}`
    return await views(key, reading, () => read(owner, id))
  }
}

/** Reads one batch; returns and throws the same as `getBatch`. */
export type BatchReader = (owner: BatchOwner, id: string) => Promise<BatchView>

/** Milliseconds for which the sums of a large batch are shared. */
const SUMS_MS = 1_000

/**
 * Creates a reader that adds up the chunks of a large batch at most once a second in each of its
 * states, however many callers share it; all else is read anew.
 */
export function createBatchReader(pipeline: Pipeline): BatchReader {
  const shared = createSharedReads<Awaited<ReturnType<typeof sumsOfRows>>>(SUMS_MS)
  return async (owner, id) => {
    const { db } = pipeline
    const row = await readBatchOf(db, owner, id)
    const reading = row.rows_total < LARGE_ROWS ? 'fresh' : 'shared'
    const sums = await shared(`${id} ${row.status}`, reading, () => sumsOfRows(db, [row]))
    return batchViewOf(row, sums.get(id))
  }
}

/** Shares the result of a read with those who ask for the same within `everyMs`. */
function createSharedReads<T>(everyMs: number) {
  const reads = new Map<string, { readonly at: number; readonly result: Promise<T> }>()
  return async (key: string, reading: 'fresh' | 'shared', read: () => Promise<T>): Promise<T> => {
    const now = performance.now()
    const known = reads.get(key)
    const isShared = reading === 'shared' && known !== undefined && now - known.at < everyMs
    if (isShared) return await known.result
    // The oldest reads are first; expired ones are no longer shared.
    for (const [old, { at }] of reads) {
      if (now - at < everyMs) break
      reads.delete(old)
    }
    const result = read()
    reads.delete(key)
    reads.set(key, { at: now, result })
    return await result
  }
}

/**
 * Yields a batch at once and then after each change, until it has ended or the signal aborts. The
 * first state is read after the call, so that a caller who has just changed the batch sees the
 * change.
 */
export async function* watchBatch(
  read: ReadBatch,
  owner: BatchOwner,
  id: string,
  options: { signal: AbortSignal; everyMs: number },
): AsyncGenerator<BatchView, void, undefined> {
  let last = ''
  while (!options.signal.aborted) {
    const view = await read(owner, id, last === '' ? 'fresh' : 'shared')
    const text = JSON.stringify({ ...view, eta_seconds: null })
    if (text !== last) yield view
    last = text
    if (view.status === 'ready' || !UNFINISHED_STATES.includes(view.status)) return
    try {
      await wait(options.everyMs, undefined, { signal: options.signal })
    } catch {
      return
    }
  }
}
