import { z } from 'zod'

/** A JSON Schema (2020-12), or a piece of one. */
export type JsonSchema = { readonly [keyword: string]: unknown }

/** A shape of the contract as JSON Schema of its input: without defaults. */
export function jsonSchemaOf(shape: z.ZodType): JsonSchema {
  const { $schema: _, ...schema } = z.toJSONSchema(shape, { io: 'input', target: 'draft-2020-12' })
  return schema
}

/** Whether an export of a module is a shape. */
export function isShape(value: unknown): value is z.ZodType {
  return value instanceof z.ZodType
}
