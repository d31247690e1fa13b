import { z } from 'zod'
import type { Check, Product } from '@plumbline/contract/products'
import { checksOf } from '@plumbline/contract/products'
import { RESULTS, type ResultOf } from '@plumbline/contract/results'
import type { BareOutcomes } from '@plumbline/contract/score'
import type { PartialResult } from './assemble.ts'
import { csvCell } from './intake/csv-cell.ts'

/** The columns that a CSV result adds, and how a record fills them. Source: decision 35. */
export interface ResultColumns {
  /** `result.<field>`, `result.<part>.status`, `result.<part>.reason`, `result.credits_used`. */
  readonly names: readonly string[]
  /** The cells of an answered record, joined by commas. */
  cells(result: ResultOf | PartialResult, outcomes: BareOutcomes, raw: boolean): string
  /** The same number of empty cells. */
  readonly emptyCells: string
}

/** Columns for a product and the checks that a batch maps. */
export function resultColumns(product: Product, mapped: readonly Check[]): ResultColumns {
  const absent = checksOf(product).filter((check) => !mapped.includes(check))
  const fields = fieldPaths(RESULTS[product]).filter(
    ([first]) => first !== 'credits_used' && !absent.some((check) => check === first),
  )
  const names = [
    ...fields.map((path) => `result.${path.join('.')}`),
    ...mapped.flatMap((check) => [`result.${check}.status`, `result.${check}.reason`]),
    'result.credits_used',
  ]
  return {
    names,
    emptyCells: ','.repeat(names.length - 1),
    cells: (result, outcomes, raw) => {
      let line = ''
      for (const [first, second] of fields) {
        line += `${valueCell(valueAt(result, first, second), raw)},`
      }
      for (const check of mapped) {
        const outcome = outcomes[check]
        line += outcome === undefined ? ',,' : `${outcome.status},${outcome.reason},`
      }
      return `${line}${result.credits_used}`
    },
  }
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

function valueCell(value: unknown, raw: boolean): string {
  switch (typeof value) {
    case 'string':
      return csvCell(value, raw)
    case 'boolean':
    case 'number':
      return String(value)
    default:
      return ''
  }
}
