import { withoutBidiControls } from '@plumbline/contract/bidi-controls'

const SEGMENTER = new Intl.Segmenter('en')

/** Cells under headings, columns as wide as their widest cell, two blanks between. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [headings, ...rows]
  const widths = headings.map((_, column) =>
    Math.max(...lines.map((line) => widthOf(shown(line[column])))),
  )
  return lines
    .map((line) =>
      widths
        .map((width, column) => padded(shown(line[column]), width))
        .join('  ')
        .trimEnd(),
    )
    .map((line) => `${line}\n`)
    .join('')
}

/** Names and values, one a line; nested values under dotted names. */
export function facts(value: object): string {
  const pairs = flat(value, '')
  const width = Math.max(0, ...pairs.map(([name]) => name.length))
  return pairs.map(([name, text]) => `${padded(name, width)}  ${shown(text)}\n`).join('')
}

function flat(value: unknown, name: string): readonly (readonly [string, string])[] {
  if (value === undefined) return []
  if (value === null) return [[name, '-']]
  if (typeof value === 'string') return [[name, value]]
  if (typeof value !== 'object') return [[name, JSON.stringify(value)]]
  const below = Object.entries(value)
  if (below.length === 0) return [[name, '-']]
  return below.flatMap(([key, held]) => flat(held, name === '' ? key : `${name}.${key}`))
}

function padded(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - widthOf(text)))
}

/** Characters as a reader counts them. */
function widthOf(text: string): number {
  return [...SEGMENTER.segment(text)].length
}

/** Words of strangers must not steer the terminal, nor turn the line around. */
function shown(text = ''): string {
  return withoutBidiControls(text).replace(/\p{Cc}/gu, '?')
}
