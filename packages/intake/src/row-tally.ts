import { PREVIEW, type PreviewCounts, type RefusedRows } from '@plumbline/contract/batch-preview'
import { cutValue } from './preview-columns.ts'
import type { FileRow } from './row-builder.ts'

/** Cells of a refused row that are shown. */
const EXAMPLE_CELLS = 20

/** Distinct errors that are counted separately; rows with others are counted together. */
const REASONS = 200
const OTHERS = 'other reasons'

/** Counts of a file's rows for its preview. */
export interface RowTally {
  add(row: FileRow): void
  counts(): PreviewCounts
}

/** Counts refused rows by error, with the first of each, and duplicates; in bounded memory. */
export function createRowTally(): RowTally {
  const refused = new Map<string, { count: number; examples: RefusedRows['examples'] }>()
  const repeats: PreviewCounts['repeats'] = []
  return {
    add: (row) => {
      if (row.kind === 'duplicate' && row.ofRow !== undefined && repeats.length < PREVIEW.rows) {
        repeats.push({ row: row.row + 1, of_row: row.ofRow + 1 })
      }
      if (row.kind !== 'refused') return
      const said = row.error ?? OTHERS
      const reason = refused.has(said) || refused.size < REASONS ? said : OTHERS
      const tally = refused.get(reason) ?? { count: 0, examples: [] }
      tally.count += 1
      if (tally.examples.length < PREVIEW.examples) {
        const cells = row.cells.slice(0, EXAMPLE_CELLS).map((cell) => cutValue(cell))
        tally.examples.push({ row: row.row + 1, cells })
      }
      refused.set(reason, tally)
    },
    counts: () => ({ refused: mostOf(refused), repeats }),
  }
}

/** The most frequent errors, and the others as one. */
function mostOf(refused: ReadonlyMap<string, Omit<RefusedRows, 'reason'>>): RefusedRows[] {
  const all = [...refused]
    .map(([reason, { count, examples }]) => ({ reason, count, examples }))
    .toSorted((a, b) => b.count - a.count)
  if (all.length <= PREVIEW.reasons) return all
  const rest = all.slice(PREVIEW.reasons - 1)
  const count = rest.reduce((sum, one) => sum + one.count, 0)
  const examples = rest.flatMap((one) => one.examples).slice(0, PREVIEW.examples)
  return [...all.slice(0, PREVIEW.reasons - 1), { reason: OTHERS, count, examples }]
}
