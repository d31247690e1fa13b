import Papa from 'papaparse'

/** The `sep=;` line of a spreadsheet, and where the records begin. */
export interface SeparatorLine {
  readonly delimiter: string
  /** Characters of the line. */
  readonly length: number
}

/**
 * Reads the line `sep=;` that gives Excel the delimiter. A program that took it for a record has
 * filled it up with delimiters.
 */
export function separatorLine(text: string): SeparatorLine | undefined {
  const match = /^"?sep=([^\r\n"])"?\1*(?:\r\n|\n|\r|$)/i.exec(text)
  const delimiter = match?.[1]
  return match === null || delimiter === undefined
    ? undefined
    : { delimiter, length: match[0].length }
}

/**
 * Delimiters in order of preference, if two fit equally: the one that is rarer in cells comes
 * first.
 */
const CANDIDATES = ['\t', ';', ',', '|'] as const

const SAMPLE_ROWS = 60
const SAMPLE_CHARS = 64 * 1024
const MIN_FIT = 0.4

/**
 * The delimiter with which most records of a sample have the same number of cells; null for one
 * column.
 */
export function findDelimiter(sample: string, newline: '\n' | '\r'): string | null {
  let best: string | null = null
  let bestFit = MIN_FIT
  const text = sample.slice(0, SAMPLE_CHARS)
  for (const delimiter of CANDIDATES) {
    if (!text.includes(delimiter)) continue
    const fit = fitOf(text, delimiter, newline)
    if (fit > bestFit) {
      best = delimiter
      bestFit = fit
    }
  }
  return best
}

function fitOf(text: string, delimiter: string, newline: '\n' | '\r'): number {
  const { data } = Papa.parse<string[]>(text, { delimiter, newline, preview: SAMPLE_ROWS })
  // The last record of a cut sample is usually incomplete.
  const rows = data.length > 2 ? data.slice(0, -1) : data
  const filled = rows.filter((row) => row.some((cell) => !IS_EMPTY.test(cell)))
  const widths = filled.map((row) => row.length)
  const counts = new Map<number, number>()
  for (const width of widths) counts.set(width, (counts.get(width) ?? 0) + 1)
  const [common = 1, count = 0] =
    [...counts].toSorted((a, b) => b[1] - a[1] || b[0] - a[0])[0] ?? []
  if (common < 2) return 0
  const first = widths.indexOf(common)
  const isTable = first > 0 && count >= TABLE_ROWS && widths.length - first === count
  // Titles have no value, unlike the records of a file with one column.
  if (isTable && !filled.slice(0, first).flat().some(mayHoldAddress)) {
    return TITLED * (1 - 1 / (4 * common))
  }
  const share = count / widths.length
  const headerFits = widths[0] === common ? 1 : 0.5
  return share * headerFits * (1 - 1 / (4 * common))
}

/** Cells without content: blank ones, and lines that reports draw between their parts. */
const IS_EMPTY = /^[\s\-=_+]*$/

/** Records of one width, to the end of the sample, that make a table below titles of any width. */
const TABLE_ROWS = 3

/** Fit of such a table: less than that of one without titles. */
const TITLED = 0.6

function mayHoldAddress(cell: string): boolean {
  return cell.includes('@')
}
