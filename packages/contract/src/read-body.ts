import type { z } from 'zod'
import { Problem } from './problem.ts'
import { unknownFields } from './requests.ts'

/**
 * Parses a JSON body by its shape.
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
  throw new Problem('bad_request', sentenceOf(issues[0]))
}

/** The message of an issue: its own if it is a sentence, else the parser's words about its field. */
function sentenceOf(issue: z.core.$ZodIssue | undefined): string {
  if (issue === undefined) return 'The body is not as this path takes it.'
  const { message, path } = issue
  if (path.length === 0 || /^[A-Z`].*[.;]/.test(message)) return message
  return `\`${path.map(String).join('.')}\`: ${message}.`
}
