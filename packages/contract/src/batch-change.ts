import { z } from 'zod'
import { uploadFields } from './batch-request.ts'

const {
  product,
  mapping,
  header,
  sheet,
  entry,
  encoding,
  delimiter,
  default_country,
  name,
  max_credits,
  known,
  known_at,
} = uploadFields.shape

/**
 * The body of `PATCH /v1/batches/{id}`: omitted fields stay as they are, and null withdraws a
 * value, so that it is detected again.
 */
export const batchChange = z
  .strictObject({
    product: product.optional(),
    mapping: mapping.unwrap().nullable().optional(),
    header: header.unwrap().nullable().optional(),
    sheet: sheet.unwrap().nullable().optional(),
    entry: entry.unwrap().nullable().optional(),
    encoding: encoding.unwrap().nullable().optional(),
    delimiter: delimiter.unwrap().nullable().optional(),
    default_country: default_country.unwrap().nullable().optional(),
    name: name.unwrap().nullable().optional(),
    max_credits: max_credits.unwrap().nullable().optional(),
    known: known.unwrap().nullable().optional(),
    known_at: known_at.unwrap().nullable().optional(),
  })
  .refine((change) => Object.values(change).some((value) => value !== undefined), {
    message: 'Name at least one field to change.',
  })
/** Changes of a batch before it starts. */
export type BatchChange = z.infer<typeof batchChange>
