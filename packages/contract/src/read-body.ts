import type { z } from 'zod'
import { Problem } from './problem.ts'
import { unknownFields } from './requests.ts'

/**
 * Parses a JSON body by its shape, whose messages are sentences.
 *
 * @throws Problem `bad_request` that names the first invalid field
 */
export function readBody<Shape extends z.ZodObject>(shape: Shape, body: unknown): z.infer<Shape> {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new Problem('bad_request', 'The body must be a JSON object.')
  }
  const read = shape.safeParse(body)
  if (read.success) return read.data
  const { issues } = read.error
  // Of the body itself: an object within it has a message of its own.
  const unknown = issues.find(({ code, path }) => code === 'unrecognized_keys' && path.length === 0)
  if (unknown?.code === 'unrecognized_keys') {
    throw new Problem('bad_request', unknownFields(unknown.keys, Object.keys(shape.shape)))
  }
  throw new Problem('bad_request', issues[0]?.message ?? 'The body is not as this path takes it.')
}
