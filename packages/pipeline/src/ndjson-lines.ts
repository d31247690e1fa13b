import type { Outcomes, Scorer } from '@plumbline/contract/score'
import type { BatchRow } from '@plumbline/db/batches/rows'
import { assembleKnown, assemble } from './assemble.ts'
import { explainParts } from './explain.ts'
import type { LineFormat } from './line-format.ts'
import { isPartial, type CheckedRecord } from './record.ts'
import type { ShownRow } from './shown-row.ts'
import { isJsonBatch } from './table-columns.ts'

/** Rows as NDJSON lines: the unchanged record, and `result` as in the response of a single call. */
export function ndjsonLines(batch: BatchRow, scorer: Scorer): LineFormat {
  const { header } = batch
  const names =
    header !== null && new Set(header).size === header.length
      ? header.map((name) => JSON.stringify(name))
      : null
  const inputOf = (cells: readonly string[]): string => {
    // A line that was too long to store has no cells, not even an empty one.
    if (isJsonBatch(batch) || cells.length === 0) return cells[0] ?? 'null'
    if (names === null || cells.length > names.length) return JSON.stringify(cells)
    const pairs = cells.map((cell, at) => `${names[at]}:${JSON.stringify(cell)}`)
    return `{${pairs.join(',')}}`
  }
  const resultText = ({ result, record }: ShownRow): string =>
    result !== null && record !== undefined && batch.explain
      ? explainedResult(batch, record, scorer)
      : JSON.stringify(result)
  return {
    header: '',
    line: (cells, place, row) => {
      const ref = cells.refs[place]
      const error = row.error === '' ? 'null' : JSON.stringify(row.error)
      return (
        `{"row":${row.row + 1},"ref":${ref === undefined ? 'null' : JSON.stringify(ref)},` +
        `"input":${inputOf(cells.rows[place] ?? [])},"status":"${row.status}",` +
        `"result":${resultText(row)},${recommended(row)},` +
        `"credits_charged":${row.charged},"error":${error}}\n`
      )
    },
  }
}

function recommended({ recommendation }: ShownRow): string {
  if (recommendation === null) return '"advice":null,"why":null,"suggestion":null'
  const { advice, why, suggestion } = recommendation
  return `"advice":"${advice}","why":${JSON.stringify(why)},"suggestion":${JSON.stringify(suggestion)}`
}

function explainedResult(batch: BatchRow, record: CheckedRecord, scorer: Scorer): string {
  if (isPartial(record)) {
    const known = assembleKnown(batch.product, record.outcomes, scorer)
    return JSON.stringify({ ...known, explain: explainParts(explained(record)) })
  }
  const { result, explain } = assemble(batch.product, explained(record), scorer)
  return JSON.stringify({ ...result, explain })
}

/** Safe because a batch that explains stores its outcomes with evidence. */
function explained(record: CheckedRecord): Outcomes {
  return record.outcomes as Outcomes
}
