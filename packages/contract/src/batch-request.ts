import { z } from 'zod'
import { withoutBidiControls } from './bidi-controls.ts'
import { isCountry } from './countries.ts'
import { encodingNamed, ENCODINGS } from './encodings.ts'
import { DELIMITER_NAMES, DELIMITER_WANTED } from './delimiters.ts'
import { known, knownAt } from './known-verdicts.ts'
import { CHECKS, checksOf, PRODUCTS, type Product } from './products.ts'
import { VALUE_MAX_CHARS } from './requests.ts'

/** Days after which a batch is erased, by default and at most. Source: decision 31. */
export const RETENTION_DAYS = { default: 30, max: 365 } as const

/** Characters of a batch's name at most. */
const NAME_MAX_CHARS = 200

/** Fields that a mapping can name. */
export const MAPPED_FIELDS = [...CHECKS, 'ref'] as const

/** Fields that the columns of a batch of a product can be mapped to. */
export function fieldsOf(product: Product): readonly string[] {
  return [...checksOf(product), 'ref']
}

/** The error for a mapping that names a field which the product does not have. */
export function unknownMapping(field: string, product: Product): string {
  const named = JSON.stringify(field.length > 60 ? `${field.slice(0, 60)}...` : field)
  const fields = fieldsOf(product).join(', ')
  return `The mapping has the field ${named}; the fields of ${product} are ${fields}.`
}

/**
 * Text without control characters and unpaired surrogates, which databases and terminals cannot
 * handle.
 */
export const PLAIN_TEXT = /^[^\p{Cc}\p{Cs}]*$/u

const product = z
  .enum(PRODUCTS, `\`product\` must be one of ${PRODUCTS.join(', ')}.`)
  .meta({ description: 'Which of the seven products each record asks for.' })
/** A batch's name. */
export const BATCH_NAME = z
  .string('`name` must be text.')
  .max(NAME_MAX_CHARS, `\`name\` must be at most ${NAME_MAX_CHARS} characters long.`)
  .regex(PLAIN_TEXT, '`name` must be plain text without control characters.')
  .overwrite(withoutBidiControls)
const countryWanted = '`default_country` must be an ISO 3166-1 alpha-2 code such as DE.'
const country = z
  .string('`default_country` must be text.')
  .regex(/^[A-Za-z]{2}$/, countryWanted)
  .transform((code) => code.toUpperCase())
  .refine(isCountry, countryWanted)
  .meta({ description: 'Country of phone numbers without a country code, ISO 3166-1 alpha-2.' })
/** Credits that a batch may cost at most. */
export const MAX_CREDITS = z
  .int('`max_credits` must be a whole number from 0.')
  .min(0, '`max_credits` must be a whole number from 0.')
  .meta({ description: 'A batch that may cost more waits at ready instead of starting.' })
const daysWanted = `\`retention_days\` must be a whole number from 0 to ${RETENTION_DAYS.max}.`
const retentionDays = z
  .int(daysWanted)
  .min(0, daysWanted)
  .max(RETENTION_DAYS.max, daysWanted)
  .meta({
    description: `Days after its end in which a batch can be read, then it is erased; ${RETENTION_DAYS.default} by default.`,
  })
const mappingWanted =
  '`mapping` must be a JSON object from email, phone, ip, domain or ref to a header name or a 0-based column number.'
const mapping = z.partialRecord(
  z.enum(MAPPED_FIELDS),
  z.union(
    [
      z
        .string(mappingWanted)
        .min(1, mappingWanted)
        .max(VALUE_MAX_CHARS, mappingWanted)
        .regex(PLAIN_TEXT, mappingWanted),
      z.int(mappingWanted).min(0, mappingWanted).max(9_999, mappingWanted),
    ],
    mappingWanted,
  ),
  mappingWanted,
)

const sheetWanted = '`sheet` must be the name of a sheet of the workbook, or its number from 1.'
/** The sheet of a workbook to read. */
export const sheet = z
  .union(
    [
      z
        .string(sheetWanted)
        .min(1, sheetWanted)
        .max(NAME_MAX_CHARS, sheetWanted)
        .regex(PLAIN_TEXT, sheetWanted),
      z.int(sheetWanted).min(1, sheetWanted).max(9_999, sheetWanted),
    ],
    sheetWanted,
  )
  .meta({ description: 'Sheet of a workbook, by its name or its number from 1.' })
const entryWanted = '`entry` must be the name of a file in the ZIP file.'
/** The file of an archive to read. */
export const entry = z
  .string(entryWanted)
  .min(1, entryWanted)
  .max(1_000, entryWanted)
  .regex(PLAIN_TEXT, entryWanted)
  .meta({ description: 'File to read of a ZIP file that holds several.' })
const encodingWanted = `\`encoding\` must be one of ${ENCODINGS.join(', ')}.`
/** The encoding of a text file, by any of its usual names. */
export const encoding = z
  .string(encodingWanted)
  .max(40, encodingWanted)
  .refine((name) => encodingNamed(name) !== undefined, encodingWanted)
  .transform((name) => encodingNamed(name) ?? name)
  .meta({ description: 'Encoding of a text file; found out if absent.' })
/** What separates the cells of a text file: the character itself, or its name. */
export const delimiter = z
  .enum([...DELIMITER_NAMES.keys()], DELIMITER_WANTED)
  .transform((name) => DELIMITER_NAMES.get(name))
  .meta({ description: 'What separates the cells of a text file.' })

/** Records among which the header can be named. */
export const HEADER_ROWS = 100
const headerWanted = `\`header\` must be true, false, or the number of the record that is the header, from 1 to ${HEADER_ROWS}.`
/** Whether a file has a header, or which record it is. */
const header = z
  .union(
    [z.boolean(), z.int(headerWanted).min(1, headerWanted).max(HEADER_ROWS, headerWanted)],
    headerWanted,
  )
  .meta({
    description:
      'Whether the first record that is not blank is a header, or the number of the record that is, from 1, which those before it are no rows of; found out if absent.',
  })

function truth(field: string) {
  return z.boolean(`\`${field}\` must be true or false.`)
}

/** Fields that determine how a batch is processed, for uploads and JSON. */
const options = {
  product,
  name: BATCH_NAME.optional(),
  default_country: country.optional(),
  start: truth('start')
    .meta({ description: 'Whether it starts when it is read (the default), or waits at ready.' })
    .optional(),
  max_credits: MAX_CREDITS.optional(),
  retention_days: retentionDays.optional(),
  explain: truth('explain')
    .meta({ description: 'Whether NDJSON results tell how each part is known; CSV does not.' })
    .optional(),
}

const cell = z.string().nullable().optional()

/** One record of a batch sent as JSON; an empty or missing value is an absent field. */
export const batchRecord = z.strictObject({
  email: cell,
  phone: cell,
  ip: cell,
  domain: cell,
  ref: cell,
})
/** One record of a batch sent as JSON. */
export type BatchRecord = z.infer<typeof batchRecord>

/** The fields of a batch sent as JSON beside its records. */
export const batchOptions = z.strictObject(options)

/** The body of `POST /v1/batches` as JSON. Source: decision 31. */
export const batchBody = z.strictObject({
  ...options,
  records: z
    .array(batchRecord, '`records` must be a list of objects.')
    .min(1, '`records` must hold at least one record.'),
})

/**
 * The fields of `POST /v1/batches` as multipart, read from their text; the file itself is the part
 * `file`.
 */
export const uploadFields = z.strictObject({
  ...options,
  mapping: mapping.optional(),
  header: header.optional(),
  sheet: sheet.optional(),
  entry: entry.optional(),
  encoding: encoding.optional(),
  delimiter: delimiter.optional(),
  known: known.optional(),
  known_at: knownAt.optional(),
})
