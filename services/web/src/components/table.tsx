import type { ComponentChildren, JSX } from 'preact'

/** One column of a table: its heading, its cells, and whether it is aligned right. */
export interface Column<T> {
  readonly title: string
  readonly cell: (row: T) => ComponentChildren
  readonly isNumber?: boolean
  readonly isTight?: boolean
  /**
   * Position in the compact layout of a row; tables that define it use that layout where there is
   * little room.
   */
  readonly narrow?: NarrowPlace
}

/**
 * At the start or end of the first line, on a line of its own, or as small print below with its
 * heading.
 */
type NarrowPlace = 'head' | 'mark' | 'line' | 'foot'

/** With more columns than this, narrow screens show a row as a list of its cells. */
const STACKED_FROM = 3
/** With more columns than this, a table needs about half as much room again. */
const MANY_FROM = 5

/** A table, which scrolls horizontally if it is wider than the page, also by keyboard. */
export function Table<T>({
  caption,
  columns,
  rows,
  keyOf,
  isStacked = columns.length > STACKED_FROM,
  isBusy = false,
}: {
  /** Accessible name of the table. */
  readonly caption: string
  readonly columns: readonly Column<T>[]
  readonly rows: readonly T[]
  readonly keyOf: (row: T, index: number) => string | number
  /**
   * Whether narrow screens show a row as a list of its cells; by default by the number of columns.
   */
  readonly isStacked?: boolean
  /** Whether rows are still being rendered. */
  readonly isBusy?: boolean
}): JSX.Element {
  return (
    // A region that scrolls must be reached by keyboard.
    <div
      class={columns.length > MANY_FROM ? 'table-box many' : 'table-box'}
      role="region"
      aria-label={caption}
      aria-busy={isBusy}
      tabIndex={0}
    >
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

/** A list of names and values. */
export function Facts({
  facts,
  long = false,
}: {
  readonly facts: readonly (readonly [name: string, value: ComponentChildren])[]
  /** Whether values are times and texts, not only numbers. */
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
