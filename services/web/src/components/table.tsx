import type { ComponentChildren, JSX } from 'preact'

/** One column of a table: its heading, how a row fills it, and where numbers stand right. */
export interface Column<T> {
  readonly title: string
  readonly cell: (row: T) => ComponentChildren
  readonly isNumber?: boolean
  readonly isTight?: boolean
  /**
   * Where it stands in a row of few lines; a table whose columns say so has such rows on a narrow
   * screen.
   */
  readonly narrow?: NarrowPlace
}

/**
 * The first line from its beginning or at its end, a line of its own, or small print below with its
 * heading.
 */
type NarrowPlace = 'head' | 'mark' | 'line' | 'foot'

/** With more columns than these, a narrow screen shows a row as a list of its cells. */
const STACKED_FROM = 3

/** Rows under headings; wider than the page it scrolls by itself, also by keyboard. */
export function Table<T>({
  caption,
  columns,
  rows,
  keyOf,
  isStacked = columns.length > STACKED_FROM,
  isBusy = false,
}: {
  /** Names the table for those who do not see it. */
  readonly caption: string
  readonly columns: readonly Column<T>[]
  readonly rows: readonly T[]
  readonly keyOf: (row: T, index: number) => string | number
  /**
   * Whether a narrow screen shows a row as a list of its cells; by the number of columns if absent.
   */
  readonly isStacked?: boolean
  /** Whether rows are still being drawn. */
  readonly isBusy?: boolean
}): JSX.Element {
  return (
    // A region that scrolls must be reached by keyboard.
    <div class="table-box" role="region" aria-label={caption} aria-busy={isBusy} tabIndex={0}>
      <table class={formOf(columns, isStacked)}>
        <caption class="unseen">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column, at) => (
              <th key={at} scope="col" class={classOf(column)}>
                {column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={keyOf(row, index)}>
              {columns.map((column, at) => (
                <td key={at} class={classOf(column)} data-title={column.title}>
                  <div class="cell">{column.cell(row)}</div>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function formOf<T>(columns: readonly Column<T>[], isStacked: boolean): string {
  if (columns.some(({ narrow }) => narrow !== undefined)) return 'table compact'
  return isStacked ? 'table stacked' : 'table'
}

function classOf<T>({ isNumber = false, isTight = false, narrow }: Column<T>): string | undefined {
  const names = [isNumber ? 'num' : undefined, isTight ? 'tight' : undefined, narrow]
  return names.filter((name) => name !== undefined).join(' ') || undefined
}

/** Names and what stands behind each. */
export function Facts({
  facts,
  long = false,
}: {
  readonly facts: readonly (readonly [name: string, value: ComponentChildren])[]
  /** Whether times and texts stand there, not numbers alone. */
  readonly long?: boolean
}): JSX.Element {
  return (
    <dl class={long ? 'facts long' : 'facts'}>
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}
