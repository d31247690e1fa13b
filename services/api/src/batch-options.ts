import type { z } from 'zod'
import {
  batchBody,
  batchOptions,
  batchRecord,
  fieldsOf,
  MAPPED_FIELDS,
  unknownMapping,
  uploadFields,
  type BatchRecord,
} from '@plumbline/contract/batch-request'
import type { Delimiter } from '@plumbline/contract/delimiters'
import { daysOf, KNOWN_AT_ALONE } from '@plumbline/contract/known-verdicts'
import { Problem } from '@plumbline/contract/problem'
import type { Product } from '@plumbline/contract/products'
import { unknownFields } from '@plumbline/contract/requests'
import { knownUnfit, takesKnown } from '@plumbline/contract/vendors'
import type { BatchRequest } from '@plumbline/db/tables/batches'
import { faultOfJson } from './json-scanner.ts'

/**
 * Limits of a mapping: one flat object, with a few more keys than there are fields, so that the
 * error can name a wrong one.
 */
const MAPPING_BOUNDS = { depth: 1, keys: 20 } as const

/** Options for processing a batch. */
export interface BatchOptions {
  readonly product: Product
  readonly name: string | null
  readonly defaultCountry: string | null
  readonly start: boolean
  readonly maxCredits: number | null
  /** Days until the batch is erased; null: the account's setting. */
  readonly retentionDays: number | null
  readonly explain: boolean
  readonly mapping: { readonly [field: string]: string | number } | undefined
  /** Whether there is a header, or the number of the record that is it. */
  readonly header: boolean | number | undefined
  readonly sheet: string | number | undefined
  readonly entry: string | undefined
  readonly encoding: string | undefined
  readonly delimiter: Delimiter | undefined
  /** Days that another service's verdict is accepted. */
  readonly known: number | undefined
  readonly knownAt: string | undefined
}

/** Fields of a batch sent as JSON, in the order in which errors list them. */
export const JSON_FIELDS: readonly string[] = Object.keys(batchBody.shape)

/**
 * Parses the fields besides the records of a batch sent as JSON.
 *
 * @throws Problem `bad_request` that names the first fault
 */
export function readJsonOptions(fields: object): BatchOptions {
  const read = batchOptions.safeParse(fields)
  if (!read.success) throw refusal(fields, read.error, JSON_FIELDS)
  return optionsOf(read.data)
}

/**
 * Parses one record of a batch sent as JSON.
 *
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
 * Parses the text fields of an upload.
 *
 * @throws Problem `bad_request` that names the first invalid field, those of the mapping too
 */
export function readUploadFields(fields: ReadonlyMap<string, string>): BatchOptions {
  const typed: Record<string, unknown> = Object.create(null)
  for (const [field, text] of fields) if (text !== '') typed[field] = typedField(field, text)
  const read = uploadFields.safeParse({ ...typed })
  if (!read.success) throw refusal(typed, read.error, Object.keys(uploadFields.shape))
  const { mapping: mapped = {}, product: asked } = read.data
  const odd = Object.keys(mapped).find((field) => !fieldsOf(asked).includes(field))
  if (odd !== undefined) throw new Problem('bad_request', unknownMapping(odd, asked))
  const { known, known_at: at } = read.data
  if (known === undefined && at !== undefined) throw new Problem('bad_request', KNOWN_AT_ALONE)
  if (known !== undefined && !takesKnown(asked)) {
    throw new Problem('bad_request', knownUnfit(asked))
  }
  return optionsOf(read.data)
}

/** The options that say how the file of a batch is read, as they are stored. */
export function readingOf(options: BatchOptions, format: 'records' | undefined): BatchRequest {
  const { header, mapping, sheet, entry, encoding, delimiter, known, knownAt } = options
  const all: Reading = {
    format,
    header,
    mapping,
    sheet,
    entry,
    encoding,
    delimiter,
    known,
    knownAt,
  }
  // Safe because it only leaves out options without a value from an object of this shape.
  return Object.fromEntries(
    Object.entries(all).filter(([, value]) => value !== undefined),
  ) as BatchRequest
}

/** All options of how a file is read, each with or without a value, so that none is left out. */
type Reading = {
  readonly [Option in Exclude<keyof BatchRequest, 'recheck' | 'rescore'>]:
    | BatchRequest[Option]
    | undefined
}

/** The typed value of a form's text; invalid text stays as it is, and the schema refuses it. */
function typedField(field: string, text: string): unknown {
  switch (field) {
    case 'start':
    case 'explain':
      return truthOf(text)
    case 'header':
      return /^\d{1,4}$/.test(text) ? Number(text) : truthOf(text)
    case 'max_credits':
    case 'retention_days':
      return /^\d{1,15}$/.test(text) ? Number(text) : text
    case 'mapping':
      return faultOfJson(text, MAPPING_BOUNDS) === undefined ? JSON.parse(text) : text
    default:
      return text
  }
}

function truthOf(text: string): boolean | string {
  return text === 'true' ? true : text === 'false' ? false : text
}

function optionsOf(fields: z.infer<typeof uploadFields>): BatchOptions {
  return {
    product: fields.product,
    name: fields.name === undefined || fields.name === '' ? null : fields.name,
    defaultCountry: fields.default_country ?? null,
    start: fields.start ?? true,
    maxCredits: fields.max_credits ?? null,
    retentionDays: fields.retention_days ?? null,
    explain: fields.explain ?? false,
    mapping: fields.mapping,
    header: fields.header,
    sheet: fields.sheet,
    entry: fields.entry,
    encoding: fields.encoding,
    delimiter: fields.delimiter,
    known: fields.known === undefined ? undefined : daysOf(fields.known),
    knownAt: fields.known_at,
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
  if (issue?.code === 'unrecognized_keys' && field === undefined) {
    return new Problem('bad_request', unknownFields(issue.keys, known))
  }
  return new Problem(
    'bad_request',
    issue?.message ?? 'The fields are not as this endpoint takes them.',
  )
}
