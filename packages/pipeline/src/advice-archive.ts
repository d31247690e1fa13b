import type { Readable } from 'node:stream'
import { adviceOf, type Advice } from '@plumbline/contract/advice'
import { Problem } from '@plumbline/contract/problem'
import type { BatchRow } from '@plumbline/db/batches/rows'
import { sumsOfBatch } from '@plumbline/db/batches/sums'
import type { Pipeline } from './pipeline.ts'
import { verdictNames } from './record.ts'
import { zipStream } from './zip-stream.ts'

/**
 * A ZIP archive with a CSV file for each advice: `send.csv`, `caution.csv`, `do_not_send.csv`, and
 * `check_again.csv` if anything is unknown; for fraud signals `allow.csv`, `review.csv`,
 * `block.csv`. Each file is written in a pass of its own over the batch, so that nothing has to be
 * buffered.
 *
 * @param rowsOf the CSV file of the rows with an advice
 * @throws Problem `conflict` while the batch runs, `bad_request` for a product without advice
 */
export async function adviceArchive(
  pipeline: Pick<Pipeline, 'db'>,
  batch: BatchRow,
  rowsOf: (advice: Advice) => Readable,
): Promise<Readable> {
  const advices = adviceOf(batch.product)
  if (advices.length === 0) {
    throw new Problem(
      'bad_request',
      `Rows of ${batch.product} have no advice to divide them by; ask for format=csv.`,
    )
  }
  if (batch.status !== 'completed' && batch.status !== 'canceled') {
    throw new Problem('conflict', `The batch is ${batch.status}; an archive is made when it ends.`)
  }
  const sums = await sumsOfBatch(pipeline.db, batch.id)
  const unknown = sums?.verdicts[verdictNames(batch.product).indexOf('unknown')] ?? 0
  const shown = advices.filter((advice) => advice !== 'check_again' || unknown > 0)
  return zipStream(
    shown.map((advice) => ({
      name: `${advice}.csv`,
      mayBeHuge: batch.rows_total > HUGE_ROWS,
      open: () => rowsOf(advice),
    })),
  )
}

/** Rows from which on one file may take more than 4 GiB. */
const HUGE_ROWS = 500_000
