import { priceCredits, type Check } from '@plumbline/contract/products'
import { subjectOf, type BatchProduct, type PlannedBatch } from './plan.ts'

/** A subject that holds this makes its engine throw. */
export const POISON = 'poison'

/** Columns of the files of each product. */
const COLUMNS: { readonly [P in BatchProduct]: readonly Check[] } = {
  email: ['email'],
  ip: ['ip'],
  phone: ['phone'],
  'contact-intel': ['email', 'ip', 'domain'],
}

/** A submitted row, and its expected result. */
export interface PlannedRow {
  readonly cells: { readonly [C in Check]?: string }
  readonly credits: number
  /** Whether its engine throws: an error, uncharged. */
  readonly isBroken: boolean
}

/** The rows of a batch, each different from all others. */
export function rowsOf(batch: PlannedBatch, no: number): readonly PlannedRow[] {
  const checks = COLUMNS[batch.product]
  return Array.from({ length: batch.rows }, (_, row) => {
    const word = oddWord(batch, row)
    const cells: { [C in Check]?: string } = {}
    for (const check of checks) {
      cells[check] =
        check === 'email' || check === 'domain'
          ? subjectOf(check, `b${no}r${row}${word}`)
          : numbered(check, no, row)
    }
    const isBroken = word === POISON
    return { cells, isBroken, credits: isBroken ? 0 : priceCredits(batch.product, checks) }
  })
}

/** The file of a batch. */
export function fileOf(batch: PlannedBatch, no: number): string {
  const checks = COLUMNS[batch.product]
  const lines = rowsOf(batch, no).map(({ cells }) => checks.map((check) => cells[check]).join(','))
  return `${[checks.join(','), ...lines].join('\n')}\n`
}

function oddWord({ odd, product }: PlannedBatch, row: number): string {
  if (odd === 0 || row % odd !== odd - 1) return ''
  // What of a row of several checks is known is charged, which the other products tell as well.
  const words = ['busy1', 'grey1', product === 'email' ? POISON : 'busy2', 'busy2']
  return words[Math.floor(row / odd) % words.length] ?? ''
}

function numbered(check: Check, no: number, row: number): string {
  if (check === 'ip') return `8.${1 + no}.${Math.floor(row / 250)}.${1 + (row % 250)}`
  return `+1415${220 + no}${String(row).padStart(4, '0')}`
}
