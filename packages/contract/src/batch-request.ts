import { z } from 'zod'
import { withoutBidiControls } from './bidi-controls.ts'
import { isCountry } from './countries.ts'
import { faultOfJson } from './json-scanner.ts'
import { Problem } from './problem.ts'
import { CHECKS, checksOf, PRODUCTS, type Product } from './products.ts'
import { unknownFields, VALUE_MAX_CHARS } from './requests.ts'

/** Days after which a batch is erased, by default and at most. Source: decision 31. */
export const RETENTION_DAYS = { default: 30, max: 365 } as const

/** Characters of a list's name at most. */
const NAME_MAX_CHARS = 200

/** Columns of a list that a mapping can name. */
export const MAPPED_FIELDS = [...CHECKS, 'ref'] as const

/** A mapping is one flat object; a few keys more than fields, so that a wrong one is named. */
const MAPPING_BOUNDS = { depth: 1, keys: 20 } as const

/** What the columns of a product's list can be mapped to. */
export function fieldsOf(product: Product): readonly string[] {
  return [...checksOf(product), 'ref']
}

/** The sentence for a mapping that names what the product does not have. */
export function unknownMapping(field: string, product: Product): string {
  const named = JSON.stringify(field.length > 60 ? `${field.slice(0, 60)}...` : field)
  const fields = fieldsOf(product).join(', ')
  return `The mapping has the field ${named}; the fields of ${product} are ${fields}.`
}

/** Forms of a result file. */
export const RESULT_FORMATS = ['csv', 'ndjson'] as const

/** What `only` of a result file takes: email statuses, risk levels, and what became of a row. */
export const RESULT_FILTERS = [
  'deliverable',
  'undeliverable',
  'risky',
  'unknown',
  'low',
  'medium',
  'high',
  'done',
  'refused',
  'blank',
  'canceled',
  'error',
] as const

/** Text without control characters and halves of surrogate pairs, which databases and terminals stumble over. */
const PLAIN = /^[^\p{Cc}\p{Cs}]*$/u

const product = z
  .enum(PRODUCTS, `\`product\` must be one of ${PRODUCTS.join(', ')}.`)
  .meta({ description: 'Which of the seven products each record asks for.' })
const name = z
  .string('`name` must be text.')
  .max(NAME_MAX_CHARS, `\`name\` must be at most ${NAME_MAX_CHARS} characters long.`)
  .regex(PLAIN, '`name` must be plain text without control characters.')
  .overwrite(withoutBidiControls)
const countryWanted = '`default_country` must be an ISO 3166-1 alpha-2 code such as DE.'
const country = z
  .string('`default_country` must be text.')
  .regex(/^[A-Za-z]{2}$/, countryWanted)
  .transform((code) => code.toUpperCase())
  .refine(isCountry, countryWanted)
const maxCredits = z
  .int('`max_credits` must be a whole number from 0.')
  .min(0, '`max_credits` must be a whole number from 0.')
const daysWanted = `\`retention_days\` must be a whole number from 0 to ${RETENTION_DAYS.max}.`
const retentionDays = z.int(daysWanted).min(0, daysWanted).max(RETENTION_DAYS.max, daysWanted)
const mappingWanted =
  '`mapping` must be a JSON object from email, phone, ip, domain or ref to a header name or a 0-based column number.'
const mapping = z.partialRecord(
  z.enum(MAPPED_FIELDS),
  z.union([z.string().min(1).max(VALUE_MAX_CHARS).regex(PLAIN), z.int().min(0).max(9_999)]),
  mappingWanted,
)

function truth(field: string) {
  return z.boolean(`\`${field}\` must be true or false.`)
}

/** Fields that say how a list is worked on, whatever way it comes in. */
const options = {
  product,
  name: name.optional(),
  default_country: country.optional(),
  start: truth('start').optional(),
  max_credits: maxCredits.optional(),
  retention_days: retentionDays.optional(),
  explain: truth('explain')
    .meta({ description: 'Whether NDJSON results tell how each part is known; CSV does not.' })
    .optional(),
}

const cell = z.string().nullable().optional()

/** One record of a list sent as JSON; an empty or missing value is an absent field. */
const batchRecord = z.strictObject({
  email: cell,
  phone: cell,
  ip: cell,
  domain: cell,
  ref: cell,
})
/** One record of a list that is sent as JSON. */
export type BatchRecord = z.infer<typeof batchRecord>

/** The body of `POST /v1/batches` as JSON. Source: decision 31. */
export const batchBody = z.strictObject({
  ...options,
  records: z
    .array(batchRecord, '`records` must be a list of objects.')
    .min(1, '`records` must hold at least one record.'),
})

/** The fields of `POST /v1/batches` as multipart, read from their text; the file itself is the part `file`. */
export const uploadFields = z.strictObject({
  ...options,
  mapping: mapping.optional(),
  header: truth('header').optional(),
})

/** How a list is to be worked on. */
export interface BatchOptions {
  readonly product: z.infer<typeof product>
  readonly name: string | null
  readonly defaultCountry: string | null
  readonly start: boolean
  readonly maxCredits: number | null
  readonly retentionDays: number
  readonly explain: boolean
  readonly mapping: { readonly [field: string]: string | number } | undefined
  readonly header: boolean | undefined
}

/** Fields that a batch sent as JSON may have, in the order in which they are told. */
export const JSON_FIELDS: readonly string[] = Object.keys(batchBody.shape)

const jsonOptions = z.strictObject(options)

/**
 * Reads the fields of a batch sent as JSON beside its records.
 * Throws `Problem('bad_request')` that names the first fault.
 */
export function readJsonOptions(fields: object): BatchOptions {
  const read = jsonOptions.safeParse(fields)
  if (!read.success) throw refusal(fields, read.error, JSON_FIELDS)
  return optionsOf(read.data)
}

/**
 * Reads one record of a batch sent as JSON.
 * @param at its number, from 0; the refusal names it
 * @throws Problem `bad_request`
 */
export function readBatchRecord(value: unknown, at: number): BatchRecord {
  const read = batchRecord.safeParse(value)
  if (read.success) return read.data
  const place = `records[${at}]: `
  const issue = read.error.issues[0]
  if (issue?.code === 'unrecognized_keys') {
    throw new Problem('bad_request', `${place}${unknownFields(issue.keys, MAPPED_FIELDS)}`)
  }
  const [part] = issue?.path ?? []
  throw new Problem(
    'bad_request',
    typeof part === 'string'
      ? `${place}\`${part}\` must be text or null.`
      : `${place}each record must be an object.`,
  )
}

/**
 * Reads the text fields of an upload.
 * Throws `Problem('bad_request')` that names the first field at fault, of the mapping too.
 */
export function readUploadFields(fields: ReadonlyMap<string, string>): BatchOptions {
  const typed: Record<string, unknown> = Object.create(null)
  for (const [field, text] of fields) if (text !== '') typed[field] = typedField(field, text)
  const read = uploadFields.safeParse({ ...typed })
  if (!read.success) throw refusal(typed, read.error, Object.keys(uploadFields.shape))
  const { mapping: mapped = {}, product: asked } = read.data
  const odd = Object.keys(mapped).find((field) => !fieldsOf(asked).includes(field))
  if (odd !== undefined) throw new Problem('bad_request', unknownMapping(odd, asked))
  return optionsOf(read.data)
}

/** What a form's text stands for; text that stands for nothing stays, and the schema refuses it. */
function typedField(field: string, text: string): unknown {
  switch (field) {
    case 'start':
    case 'header':
    case 'explain':
      return text === 'true' ? true : text === 'false' ? false : text
    case 'max_credits':
    case 'retention_days':
      return /^\d{1,15}$/.test(text) ? Number(text) : text
    case 'mapping':
      return faultOfJson(text, MAPPING_BOUNDS) === undefined ? JSON.parse(text) : text
    default:
      return text
  }
}

function optionsOf(fields: z.infer<typeof uploadFields>): BatchOptions {
  return {
    product: fields.product,
    name: fields.name === undefined || fields.name === '' ? null : fields.name,
    defaultCountry: fields.default_country ?? null,
    start: fields.start ?? true,
    maxCredits: fields.max_credits ?? null,
    retentionDays: fields.retention_days ?? RETENTION_DAYS.default,
    explain: fields.explain ?? false,
    mapping: fields.mapping,
    header: fields.header,
  }
}

function refusal(body: object, error: z.ZodError, known: readonly string[]): Problem {
  const issue = error.issues[0]
  const [field] = issue?.path ?? []
  if (typeof field === 'string' && !Object.hasOwn(body, field)) {
    return new Problem(
      'bad_request',
      `\`${field}\` is missing; the fields taken here are ${known.join(', ')}.`,
    )
  }
  if (field === 'mapping') return new Problem('bad_request', mappingWanted)
  if (issue?.code === 'unrecognized_keys') {
    return new Problem('bad_request', unknownFields(issue.keys, known))
  }
  return new Problem(
    'bad_request',
    issue?.message ?? 'The fields are not as this endpoint takes them.',
  )
}
