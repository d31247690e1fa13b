import type { ComponentChildren, JSX } from 'preact'

/** One column of a table: its heading, how a row fills it, and where numbers stand right. */
export interface Column<T> {
  readonly title: string
  readonly cell: (row: T) => ComponentChildren
  readonly isNumber?: boolean
  readonly isTight?: boolean
}

/** With more columns than these, a narrow screen shows a row as a list of its cells. */
const STACKED_FROM = 3

/** Rows under headings; wider than the page it scrolls by itself, also by keyboard. */
export function Table<T>({
  caption,
  columns,
  rows,
  keyOf,
  isStacked = columns.length > STACKED_FROM,
}: {
  /** Names the table for those who do not see it. */
  readonly caption: string
  readonly columns: readonly Column<T>[]
  readonly rows: readonly T[]
  readonly keyOf: (row: T, index: number) => string | number
  /** Whether a narrow screen shows a row as a list of its cells; by the number of columns where absent. */
  readonly isStacked?: boolean
}): JSX.Element {
  return (
    // A region that scrolls must be reached by keyboard.
    <div class="table-box" role="region" aria-label={caption} tabIndex={0}>
      <table class={isStacked ? 'table stacked' : 'table'}>
        <caption class="unseen">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.title} scope="col" class={classOf(column)}>
                {column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={keyOf(row, index)}>
              {columns.map((column) => (
                <td key={column.title} class={classOf(column)} data-title={column.title}>
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

function classOf<T>({ isNumber = false, isTight = false }: Column<T>): string | undefined {
  if (isNumber) return 'num'
  return isTight ? 'tight' : undefined
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
