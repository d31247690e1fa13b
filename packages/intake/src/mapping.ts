import { fieldsOf, MAPPED_FIELDS, unknownMapping } from '@plumbline/contract/batch-request'
import { CHECKS, checksOf, type Check, type Product } from '@plumbline/contract/products'
import type { ColumnGuess, ColumnRoles } from './columns.ts'
import { lookAlike, wordsOf } from './column-names.ts'
import { IntakeError } from './intake-error.ts'

/** A field that a column can be mapped to. */
export type MappedField = (typeof MAPPED_FIELDS)[number]

/** Column of each mapped field, with the confidence; a mapping by the client has confidence 1. */
export type ColumnMapping = { readonly [F in MappedField]?: ColumnGuess }

/** A client's mapping: field to column name or 0-based column. */
export type AskedMapping = Readonly<Record<string, string | number>>

/** Least confidence of a column for a check that the product does not require. */
const MIN_OPTIONAL = 0.5

/** Two columns whose confidence differs by less are rivals; the better one loses a quarter of it. */
const RIVAL_GAP = 0.1

/** Confidence of the only column of a file. */
const ONLY_COLUMN = 0.5

/** Confidence from which a column belongs to a check. */
const SURELY_ANOTHER = 0.8

/** Input of a mapping. */
export interface MappingSource {
  readonly product: Product
  readonly header: readonly string[] | null
  readonly columns: number
  readonly roles: ColumnRoles
}

/**
 * The mapping of a file: the client's if it names a field to check, else the detected one.
 *
 * @throws IntakeError for an unknown field, name or column, and if the required field has no column
 */
export function mapColumns(source: MappingSource, asked: AskedMapping | undefined): ColumnMapping {
  const explicit: { [F in MappedField]?: ColumnGuess } = {}
  for (const [field, column] of Object.entries(asked ?? {})) {
    explicit[fieldOf(field, source.product)] = askedColumn(field, column, source)
  }
  const checks = checksOf(source.product)
  const named = checks.some((check) => explicit[check] !== undefined)
  const mapping = named ? explicit : { ...foundMapping(source), ...explicit }
  const [required] = checks
  if (required !== undefined && mapping[required] === undefined) {
    throw new IntakeError('unprocessable', noColumnMessage(required, source, named))
  }
  const ref = explicit.ref ?? findRef(source.header, mapping)
  return ref === undefined ? mapping : { ...mapping, ref }
}

function fieldOf(field: string, product: Product): MappedField {
  const known = MAPPED_FIELDS.find((name) => name === field)
  if (known === undefined || !fieldsOf(product).includes(known)) {
    throw new IntakeError('bad_request', unknownMapping(field, product))
  }
  return known
}

function askedColumn(field: string, asked: string | number, source: MappingSource): ColumnGuess {
  const { header, columns } = source
  if (typeof asked === 'number') {
    if (!Number.isInteger(asked) || asked < 0 || asked >= columns) {
      throw new IntakeError(
        'bad_request',
        `The mapping of ${field} is column ${asked}; the file has columns 0 to ${columns - 1}.`,
      )
    }
    return { column: asked, header: header?.[asked] ?? null, confidence: 1 }
  }
  if (header === null) {
    throw new IntakeError(
      'bad_request',
      `The mapping of ${field} is the name ${quote(asked)}, but the file has no header line; give the column's number, from 0.`,
    )
  }
  const exact = columnsNamed(header, (name) => name === asked)
  const found = exact.length > 0 ? exact : columnsNamed(header, (name) => lookAlike(name, asked))
  const [column] = found
  if (column === undefined) {
    throw new IntakeError(
      'bad_request',
      `The mapping of ${field} names the column ${quote(asked)}, which the file does not have; its columns are ${listed(header)}.`,
    )
  }
  if (found.length > 1) {
    throw new IntakeError(
      'bad_request',
      `The mapping of ${field} names the column ${quote(asked)}, which the file has ${found.length} times; give the column's number: ${found.join(' or ')}.`,
    )
  }
  return { column, header: header[column] ?? null, confidence: 1 }
}

function columnsNamed(header: readonly string[], fits: (name: string) => boolean): number[] {
  return header.flatMap((name, column) => (fits(name) ? [column] : []))
}

function foundMapping({ product, roles, columns, header }: MappingSource): ColumnMapping {
  const taken = new Set<number>()
  const mapping: { [C in Check]?: ColumnGuess } = {}
  for (const [at, check] of checksOf(product).entries()) {
    const free = roles[check].filter(({ column }) => !taken.has(column))
    const alone = at === 0 && columns === 1 && !holdsAnother(roles, check)
    const best = free[0] ?? (alone ? onlyColumn(header) : undefined)
    if (best === undefined || (at > 0 && best.confidence < MIN_OPTIONAL)) continue
    const rival = free[1]
    const close = rival !== undefined && rival.confidence > best.confidence - RIVAL_GAP
    mapping[check] = close ? { ...best, confidence: Math.round(best.confidence * 75) / 100 } : best
    taken.add(best.column)
  }
  return mapping
}

/** Whether a column clearly belongs to another check: the file was sent to the wrong product. */
function holdsAnother(roles: ColumnRoles, check: Check): boolean {
  return CHECKS.some(
    (other) =>
      other !== check && roles[other].some(({ confidence }) => confidence >= SURELY_ANOTHER),
  )
}

/** The guess for a file with a single column: it must hold what the product checks. */
function onlyColumn(header: readonly string[] | null): ColumnGuess {
  return { column: 0, header: header?.[0] ?? null, confidence: ONLY_COLUMN }
}

const REF =
  /^(?:ref|reference|id|uuid|row id|record id|contact id|customer id|user id|lead id|external id|account id|client ref)$/

function findRef(
  header: readonly string[] | null,
  mapping: ColumnMapping,
): ColumnGuess | undefined {
  const taken = new Set(Object.values(mapping).map(({ column }) => column))
  const column = header?.findIndex((name, at) => !taken.has(at) && REF.test(wordsOf(name))) ?? -1
  return column === -1 ? undefined : { column, header: header?.[column] ?? null, confidence: 0.9 }
}

const FIELD_NAMES: Readonly<Record<Check, string>> = {
  email: 'email addresses',
  phone: 'phone numbers',
  ip: 'IP addresses',
  domain: 'domain names',
}

function noColumnMessage(check: Check, { header }: MappingSource, named: boolean): string {
  if (named) return `The mapping names no column for ${check}, which the product requires.`
  const among = header === null ? '' : ` among ${listed(header)}`
  return `No column of ${FIELD_NAMES[check]} was found${among}; name one with "mapping": {"${check}": ...}.`
}

function listed(header: readonly string[]): string {
  const shown = header.slice(0, 12).map(quote).join(', ')
  return header.length > 12 ? `${shown} and ${header.length - 12} more` : shown
}

function quote(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}...` : text)
}
