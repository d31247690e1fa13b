import { priceCredits, type Check } from '@plumbline/contract/products'
import { subjectOf, type BatchProduct, type PlannedBatch } from './plan.ts'

/** A subject that contains this makes its engine throw. */
export const POISON = 'poison'

/** An additional column of long files: twenty such rows exceed the size of a short file. */
const NOTE = 'n'.repeat(7_000)

/** Columns of the files of each product. */
const COLUMNS: { readonly [P in BatchProduct]: readonly Check[] } = {
  email: ['email'],
  ip: ['ip'],
  phone: ['phone'],
  'contact-intel': ['email', 'ip', 'domain'],
}

/** A submitted row, and its expected result. */
export interface PlannedRow {
  readonly cells: { readonly [C in Check | 'note']?: string }
  readonly credits: number
  /** Whether the engine throws for this row, so that its result is an uncharged error. */
  readonly isBroken: boolean
}

/** The rows of a batch, each different from all others. */
export function rowsOf(batch: PlannedBatch, no: number): readonly PlannedRow[] {
  const checks = COLUMNS[batch.product]
  return Array.from({ length: batch.rows }, (_, row) => {
    const word = specialWord(batch, row)
    const cells: { [C in Check | 'note']?: string } = {}
    for (const check of checks) {
      cells[check] =
        check === 'email' || check === 'domain'
          ? subjectOf(check, `b${no}r${row}${word}`)
          : numbered(check, no, row)
    }
    if (batch.special === 'all_wait') cells.email = `b${no}r${row}@never.example`
    if (batch.special === 'long_file') cells.note = NOTE
    const isBroken = word === POISON
    return { cells, isBroken, credits: isBroken ? 0 : priceCredits(batch.product, checks) }
  })
}

/** The file of a batch. */
export function fileOf(batch: PlannedBatch, no: number): string {
  const notes = batch.special === 'long_file' ? (['note'] as const) : []
  const columns = [...COLUMNS[batch.product], ...notes]
  const lines = rowsOf(batch, no).map(({ cells }) => columns.map((name) => cells[name]).join(','))
  return `${[columns.join(','), ...lines].join('\n')}\n`
}

function specialWord({ specialEvery, product }: PlannedBatch, row: number): string {
  if (specialEvery === 0 || row % specialEvery !== specialEvery - 1) return ''
  // Only email rows are poisoned: of a row of several checks, the ones that succeed would be charged.
  const words = ['busy1', 'grey1', product === 'email' ? POISON : 'busy2', 'busy2']
  return words[Math.floor(row / specialEvery) % words.length] ?? ''
}

function numbered(check: Check, no: number, row: number): string {
  if (check === 'ip') return `8.${1 + no}.${Math.floor(row / 250)}.${1 + (row % 250)}`
  return `+1415${220 + no}${String(row).padStart(4, '0')}`
}
