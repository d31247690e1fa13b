import { z } from 'zod'
import type { Check, Product } from '@plumbline/contract/products'
import { checksOf } from '@plumbline/contract/products'
import { RESULTS } from '@plumbline/contract/results'
import type { ShownRow } from './shown-row.ts'

/** Value of a cell in an added column; null is an empty cell. */
export type CellValue = string | number | boolean | null

/** A column that results add to those of the customer. */
export interface ResultColumn {
  readonly name: string
  value(row: ShownRow): CellValue
}

/**
 * The columns that results add, for a product and the mapped checks: `result.<field>`, status and
 * reason of each part, advice, credits and error. Source: decisions 35 and 40.
 */
export function resultColumns(product: Product, mapped: readonly Check[]): readonly ResultColumn[] {
  const absent = checksOf(product).filter((check) => !mapped.includes(check))
  const fields = fieldPaths(RESULTS[product]).filter(
    ([first]) => first !== 'credits_used' && !absent.some((check) => check === first),
  )
  return [
    ...fields.map(fieldColumn),
    ...mapped.flatMap(partColumns),
    column('advice', (row) => row.recommendation?.advice ?? null),
    column('why', (row) => row.recommendation?.why ?? null),
    column('suggestion', (row) => row.recommendation?.suggestion ?? null),
    column('credits_used', (row) => row.result?.credits_used ?? null),
    column('credits_charged', (row) => row.charged),
    column('error', (row) => row.error),
  ]
}

/** The number of a row from 1, for files that do not hold every row. */
export const ROW_COLUMN: ResultColumn = column('row', ({ row }) => row + 1)

function column(name: string, value: ResultColumn['value']): ResultColumn {
  return { name: `result.${name}`, value }
}

function fieldColumn([first, second]: FieldPath): ResultColumn {
  const name = second === undefined ? first : `${first}.${second}`
  return column(name, ({ result }) =>
    result === null ? null : cellValue(valueAt(result, first, second)),
  )
}

function partColumns(check: Check): readonly ResultColumn[] {
  const outcomeOf = ({ result, record }: ShownRow) =>
    result === null ? undefined : record?.outcomes[check]
  return [
    column(`${check}.status`, (row) => outcomeOf(row)?.status ?? null),
    column(`${check}.reason`, (row) => outcomeOf(row)?.reason ?? null),
  ]
}

type FieldPath = readonly [first: string, second?: string]

/** Paths of a result's fields, at most two deep, in the order of the contract. */
function fieldPaths(schema: z.ZodObject): readonly FieldPath[] {
  return Object.entries(schema.shape).flatMap(([name, field]): FieldPath[] => {
    const inner = field instanceof z.ZodOptional ? field.unwrap() : field
    if (!(inner instanceof z.ZodObject)) return [[name]]
    return Object.keys(inner.shape).map((second) => [name, second])
  })
}

function valueAt(result: object, first: string, second: string | undefined): unknown {
  const value = fieldsOf(result)[first]
  if (second === undefined) return value
  return typeof value === 'object' && value !== null ? fieldsOf(value)[second] : undefined
}

/** Safe because it only reads: an absent field is undefined. */
function fieldsOf(value: object): Readonly<Record<string, unknown>> {
  return value as Readonly<Record<string, unknown>>
}

function cellValue(value: unknown): CellValue {
  switch (typeof value) {
    case 'string':
    case 'boolean':
    case 'number':
      return value
    default:
      return null
  }
}
