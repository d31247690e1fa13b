import { findGroupedHeader } from './grouped-header.ts'
import { findHeader, findPreamble } from './header.ts'
import { IntakeError } from './intake-error.ts'
import { TOO_LONG, type UploadLimits } from './limits.ts'

/** Rows of the sample in which columns are detected. */
export const SAMPLE_ROWS = 200

/** Layout of the first records of a file. */
export interface RecordLayout {
  /** Records at the start that are no rows: titles, blank ones, and the header. */
  readonly skipRecords: number
  readonly header: readonly string[] | null
  /** Rows of the sample, without the header. */
  readonly rows: readonly (readonly string[])[]
}

/**
 * Finds the header among the first records of a file.
 *
 * @throws IntakeError if the header exceeds the line limit, or the record that is asked for is blank
 * or missing
 */
export function findRecords(
  all: readonly (readonly string[])[],
  options: {
    /** Whether there is a header, or the number of its record, from 1; detected if absent. */
    readonly header: boolean | number | undefined
    readonly limits: UploadLimits
    /** Whether titles and notes may precede it. */
    readonly passesTitles: boolean
    /** Whether cells can be merged, so that a header may have two rows. */
    readonly canMerge?: boolean
    readonly firstLine: number
  },
): RecordLayout {
  const { header: asked, limits, firstLine } = options
  const grouped =
    asked === undefined && options.canMerge === true ? findGroupedHeader(all) : undefined
  if (grouped !== undefined) {
    const { skipRecords, header } = grouped
    return { skipRecords, header, rows: recordsBehind(all, skipRecords, limits) }
  }
  const preamble = preambleOf(all, options)
  const records = all.slice(preamble)
  const whole = records.filter((record) => record !== TOO_LONG)
  const hasHeader = asked === undefined ? findHeader(whole) : asked !== false
  const first = records.findIndex((record) => record === TOO_LONG || !isBlank(record))
  // Without a first record nothing is known of the columns.
  if ((hasHeader && records[first] === TOO_LONG) || records.length === 0) {
    const line = Math.max(first, 0) + firstLine
    throw new IntakeError(
      'unprocessable',
      `Line ${line}: the header line is over ${limits.lineBytes} bytes.`,
      { line },
    )
  }
  const header = hasHeader ? (records[first] ?? []).map((name) => name.toWellFormed()) : null
  const skipRecords = preamble + (hasHeader ? first + 1 : 0)
  return { skipRecords, header, rows: recordsBehind(all, skipRecords, limits) }
}

/** Number of records above the header, or above the rows if there is none. */
function preambleOf(
  all: readonly (readonly string[])[],
  { header, passesTitles }: { header: boolean | number | undefined; passesTitles: boolean },
): number {
  if (typeof header !== 'number')
    return header === undefined && passesTitles ? findPreamble(all) : 0
  const named = all[header - 1]
  if (named === undefined || (named !== TOO_LONG && isBlank(named))) {
    throw new IntakeError(
      'unprocessable',
      `The record ${header} that is to be the header is ${named === undefined ? 'missing' : 'blank'}; give the number of the one that names the columns, from 1.`,
    )
  }
  return header - 1
}

function recordsBehind(
  all: readonly (readonly string[])[],
  skipRecords: number,
  { columns }: UploadLimits,
): readonly (readonly string[])[] {
  return all
    .slice(skipRecords)
    .filter((record) => record.length <= columns && !isBlank(record))
    .slice(0, SAMPLE_ROWS)
}

function isBlank(record: readonly string[]): boolean {
  return record.every((cell) => cell.trim() === '')
}
