import { foreignLine } from './foreign-text.ts'
import { styled, type Shell, type Style } from './shell.ts'

const SEGMENTER = new Intl.Segmenter('en')

/** Properties of the terminal that the layout depends on. */
type Screen = Pick<Shell, 'hasColors'>

const PLAIN: Screen = { hasColors: false }

/** Words of states, with a colour for good or bad. */
const STATES: ReadonlyMap<string, Style> = new Map<string, Style>([
  ['ok', 'green'],
  ['active', 'green'],
  ['completed', 'green'],
  ['valid', 'green'],
  ['deliverable', 'green'],
  ['low', 'green'],
  ['degraded', 'yellow'],
  ['ready', 'yellow'],
  ['risky', 'yellow'],
  ['medium', 'yellow'],
  ['canceled', 'yellow'],
  ['failed', 'red'],
  ['refused', 'red'],
  ['invalid', 'red'],
  ['undeliverable', 'red'],
  ['high', 'red'],
  ['off', 'gray'],
  ['revoked', 'gray'],
  ['expired', 'gray'],
])

/** Cells under headings, each column as wide as its widest cell, two blanks between. */
export function table(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  screen: Screen = PLAIN,
): string {
  const lines = rows.map((row) => headings.map((_, column) => shown(row[column])))
  const widths = headings.map((heading, column) =>
    Math.max(widthOf(heading), ...lines.map((line) => widthOf(line[column] ?? ''))),
  )
  const lineOf = (cells: readonly string[], style?: Style): string => {
    const last = cells.findLastIndex((cell) => cell !== '')
    const laidOut = cells.slice(0, last + 1).map((cell, column) => {
      const text = paintedState(cell, screen, style)
      return column === last ? text : `${text}${blanks((widths[column] ?? 0) - widthOf(cell))}`
    })
    return `${laidOut.join('  ')}\n`
  }
  return [lineOf(headings, 'bold'), ...lines.map((line) => lineOf(line))].join('')
}

/** Names and values, one a line; nested values under dotted names. */
export function facts(value: object, screen: Screen = PLAIN): string {
  const pairs = flat(value, '')
  const width = Math.max(0, ...pairs.map(([name]) => name.length))
  return pairs
    .map(([name, text]) => {
      const label = `${styled(screen, 'gray', name)}${blanks(width - widthOf(name))}`
      return `${label}  ${paintedState(shown(text), screen)}\n`
    })
    .join('')
}

function flat(value: unknown, name: string): readonly (readonly [string, string])[] {
  if (value === undefined) return []
  if (value === null) return [[name, '-']]
  if (typeof value === 'string') return [[name, value]]
  if (typeof value === 'number') return [[name, String(Number(value.toFixed(DECIMALS)))]]
  if (typeof value !== 'object') return [[name, JSON.stringify(value)]]
  const below = Object.entries(value)
  if (below.length === 0) return [[name, '-']]
  return below.flatMap(([key, held]) => flat(held, name === '' ? key : `${name}.${key}`))
}

/** Decimal digits of a number: those of a city's coordinates. */
const DECIMALS = 4

function paintedState(text: string, screen: Screen, style = STATES.get(text)): string {
  return style === undefined ? text : styled(screen, style, text)
}

function blanks(count: number): string {
  return ' '.repeat(Math.max(0, count))
}

/** Width in grapheme clusters. */
function widthOf(text: string): number {
  return [...SEGMENTER.segment(text)].length
}

/** A time as the API writes it; milliseconds are not shown. */
const MOMENT = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.\d+)?Z$/

function shown(text = ''): string {
  return foreignLine(text).replace(MOMENT, '$1 $2Z')
}
