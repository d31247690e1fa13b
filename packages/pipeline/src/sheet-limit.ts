import { ADVICE_BY_RISK, ADVICE_BY_STATUS, type Advice } from '@plumbline/contract/advice'
import { Problem } from '@plumbline/contract/problem'
import type { BatchRow } from '@plumbline/db/batches/rows'
import { sumsOfBatch } from '@plumbline/db/batches/sums'
import type { Pipeline } from './pipeline.ts'
import { verdictNames } from './record.ts'
import { SHEET_MAX_ROWS } from './workbook.ts'

/**
 * Refuses a workbook with more rows than one sheet may hold, which would be cut off.
 *
 * @param only filters of rows; empty for all
 * @throws Problem `bad_request`
 */
export async function refuseTooLong(
  pipeline: Pick<Pipeline, 'db'>,
  batch: BatchRow,
  only: readonly string[],
): Promise<void> {
  if (batch.rows_total <= SHEET_MAX_ROWS) return
  const most = only.length === 0 ? batch.rows_total : await mostRows(pipeline, batch, only)
  if (most <= SHEET_MAX_ROWS) return
  const limit = SHEET_MAX_ROWS.toLocaleString('en')
  throw new Problem(
    'bad_request',
    `A sheet holds ${limit} rows and these may be ${most.toLocaleString('en')}; ask for format=csv, or for fewer rows with \`only\`.`,
  )
}

/**
 * Upper bound of the rows that a filter selects, from the batch's counts: duplicates are counted
 * beside verdicts.
 */
async function mostRows(
  { db }: Pick<Pipeline, 'db'>,
  batch: BatchRow,
  only: readonly string[],
): Promise<number> {
  const sums = await sumsOfBatch(db, batch.id)
  const verdicts = new Map(
    verdictNames(batch.product).map((name, at) => [name, sums?.verdicts[at] ?? 0]),
  )
  const answered = batch.rows_billable + batch.rows_duplicate
  let most = 0
  for (const word of new Set(only.map((name) => VERDICT_OF_ADVICE.get(name) ?? name))) {
    if (word === 'refused') most += batch.rows_refused
    else if (word === 'blank') most += batch.rows_blank
    else if (word === 'known') most += batch.rows_known
    else most += Math.min(answered, (verdicts.get(word) ?? answered) + batch.rows_duplicate)
  }
  return Math.min(most, batch.rows_total)
}

/** Advices that may be given with any verdict. */
const MIXED: readonly Advice[] = ['caution', 'do_not_send']

/**
 * The only verdict with which an advice is given; other advices are bounded by the number of
 * answers.
 */
const VERDICT_OF_ADVICE: ReadonlyMap<string, string> = new Map(
  [...Object.entries(ADVICE_BY_STATUS), ...Object.entries(ADVICE_BY_RISK)]
    .filter(([, advice]) => !MIXED.includes(advice))
    .map(([verdict, advice]) => [advice, verdict]),
)
