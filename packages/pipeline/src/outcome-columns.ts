/**
 * A column of outcomes as it is stored: all values; or one of a few for each row, by a character of
 * `at` (without it each row has the first); or those of another column, except where `but` has
 * another by position.
 */
export type StoredColumn =
  | readonly unknown[]
  | { readonly of: readonly unknown[]; readonly at?: string }
  | { readonly as: string; readonly but: Readonly<Record<string, unknown>> }

/** Stored columns by name. */
export type StoredColumns = Readonly<Record<string, StoredColumn>>

/** Columns by name, each with a value for each row. */
export type Columns = Readonly<Record<string, readonly unknown[]>>

/** The character of the first value; those of the others follow it. */
const FIRST_CHARACTER = '0'.charCodeAt(0)

/**
 * Reads stored columns.
 *
 * @param count number of rows
 * @throws if a column repeats one that comes after it, or none
 */
export function columnsOf(stored: StoredColumns, count: number): Columns {
  const columns: Record<string, readonly unknown[]> = {}
  for (const [name, column] of Object.entries(stored)) {
    columns[name] = valuesOf(column, count, columns)
  }
  return columns
}

function valuesOf(column: StoredColumn, count: number, before: Columns): readonly unknown[] {
  if (isWhole(column)) return column
  if ('as' in column) {
    const values = before[column.as]?.slice()
    if (values === undefined) throw new Error(`a column repeats ${column.as}, which is not there`)
    for (const [at, value] of Object.entries(column.but)) values[Number(at)] = value
    return values
  }
  const { of, at } = column
  const values: unknown[] = Array(count).fill(of[0])
  if (at === undefined) return values
  for (let row = 0; row < count; row++) values[row] = of[at.charCodeAt(row) - FIRST_CHARACTER]
  return values
}

function isWhole(column: StoredColumn): column is readonly unknown[] {
  return Array.isArray(column)
}
