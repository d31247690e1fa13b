import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Turn } from '@plumbline/concurrency/event-loop-turns'
import type { BatchKnown } from '@plumbline/contract/known-verdicts'
import { Problem } from '@plumbline/contract/problem'
import { readChunks } from '@plumbline/db/batches/chunks'
import { type BatchOwner, type BatchRow } from '@plumbline/db/batches/rows'
import { readBatchOf } from './batch-access.ts'
import { unpackCells, unpackSubjects } from './codec.ts'
import type { Pipeline } from './pipeline.ts'
import { recordsOf, type CheckedRecord } from './record.ts'

type AskedRow = BatchKnown['asked'][number]

/**
 * Comparison of the accepted verdicts of another service with our own outcomes for the known rows
 * that were checked, as far as known. Reads the chunks that hold them one after the other.
 *
 * @param turn awaited before each chunk is decoded, which blocks the process for a while
 * @throws Problem `not_found`, also once erased; `conflict` if the batch accepts no such verdicts,
 * or was not read yet
 */
export async function readKnown(
  pipeline: Pick<Pipeline, 'db'>,
  owner: BatchOwner,
  id: string,
  turn: Turn = nextTurn,
): Promise<BatchKnown> {
  const batch = await readBatchOf(pipeline.db, owner, id)
  const known = verdictsOf(batch)
  const asked = await askedRows(pipeline, batch, known.asked, turn)
  const answered = asked.filter(({ found }) => found !== null)
  const agreed = answered.filter(({ agrees }) => agrees === true).length
  const disagreed = answered.filter(({ agrees }) => agrees === false).length
  return {
    batch_id: id,
    vendor: known.vendor,
    columns: { verdict: known.verdict, at: known.at },
    days: known.days,
    rows: {
      known: batch.rows_known,
      asked: asked.length,
      answered: answered.length,
      agreed,
      disagreed,
      undecided: answered.length - agreed - disagreed,
    },
    asked,
  }
}

function verdictsOf({ status, known, ...row }: BatchRow): NonNullable<BatchRow['known']> {
  if (status === 'expired') {
    throw new Problem('not_found', 'The batch was erased when its retention ended.')
  }
  if (known !== null && row.read_whole) return known
  if (row.requested.known === undefined) {
    throw new Problem(
      'conflict',
      'The batch accepts no verdicts of other services; upload an export of theirs with known=30d.',
    )
  }
  throw new Problem('conflict', `The batch is ${status}; its rows are not read yet.`)
}

async function askedRows(
  { db }: Pick<Pipeline, 'db'>,
  batch: BatchRow,
  places: NonNullable<BatchRow['known']>['asked'],
  turn: Turn,
): Promise<AskedRow[]> {
  const rows: AskedRow[] = []
  for (const [no, within] of Map.groupBy(places, ({ chunkNo }) => chunkNo)) {
    const [chunk] = await readChunks(db, batch.id, { fromNo: no, most: 1 })
    if (chunk === undefined) continue
    await turn()
    const { claims = {}, refs } = unpackCells(chunk.cells)
    const records = recordsOf(chunk, unpackSubjects(chunk.subjects))
    for (const { place } of within) {
      const claim = claims[place]
      if (claim === undefined || 'ofRow' in claim) continue
      const found = foundOf(records.get(place))
      rows.push({
        row: chunk.firstRow + place + 1,
        ref: refs[place] ?? null,
        said: claim,
        found,
        agrees: agreementOf(claim.verdict, found),
      })
    }
  }
  return rows
}

function foundOf(record: CheckedRecord | undefined): AskedRow['found'] {
  const email = record?.outcomes.email
  return email === undefined ? null : { verdict: email.status, reason: email.reason }
}

/** Whether two verdicts agree; null unless both are definite. */
function agreementOf(said: string, found: AskedRow['found']): boolean | null {
  if (found === null) return null
  if (found.verdict !== 'deliverable' && found.verdict !== 'undeliverable') return null
  return found.verdict === said
}
