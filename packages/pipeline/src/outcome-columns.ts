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

/**
 * Maximum number of distinct values of a column that is stored by characters: `0` to `W`, none of
 * which JSON escapes.
 */
const MOST_VALUES = 40
const FIRST_CHARACTER = '0'.charCodeAt(0)

/** Maximum number of rows of a column that differ from the column that it repeats. */
const MOST_DIFFERENT = 40

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

/** A column in the form that takes the least space. @param first the column that it may repeat */
export function storedColumn(
  values: readonly unknown[],
  first?: { readonly name: string; readonly values: readonly unknown[] },
): StoredColumn {
  return byCharacters(values) ?? repeating(values, first) ?? values
}

function byCharacters(values: readonly unknown[]): StoredColumn | undefined {
  const places = new Map<unknown, number>()
  let at = ''
  for (const value of values) {
    let place = places.get(value)
    if (place === undefined) {
      // Two objects are never equal here, so columns of objects are stored in full.
      if (places.size === MOST_VALUES || (typeof value === 'object' && value !== null))
        return undefined
      place = places.size
      places.set(value, place)
    }
    at += CHARACTERS[place]
  }
  const of = [...places.keys()]
  return of.length === 1 ? { of } : { of, at }
}

const CHARACTERS = Array.from({ length: MOST_VALUES }, (_, place) =>
  String.fromCharCode(FIRST_CHARACTER + place),
)

function repeating(
  values: readonly unknown[],
  first: Parameters<typeof storedColumn>[1],
): StoredColumn | undefined {
  if (first === undefined) return undefined
  const but: Record<string, unknown> = {}
  let different = 0
  for (const [at, value] of values.entries()) {
    if (value === first.values[at]) continue
    different += 1
    if (different > MOST_DIFFERENT) return undefined
    but[at] = value
  }
  return { as: first.name, but }
}
