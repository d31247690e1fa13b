import { expect, test } from 'vitest'
import { z } from 'zod'
import { readBody } from './read-body.ts'

const shape = z.strictObject({
  url: z.string('Send `url` as a string.'),
  role: z.enum(['owner', 'viewer']).optional(),
  mapping: z.strictObject({ email: z.int() }, '`mapping` must be an object.').optional(),
})

test.each<[unknown, string]>([
  [null, 'The body must be a JSON object.'],
  [[], 'The body must be a JSON object.'],
  [
    { url: 1, colour: 'red' },
    'Unknown field "colour"; the fields taken here are url, role, mapping.',
  ],
  [{}, 'Send `url` as a string.'],
  [{ url: '', role: 'king' }, '`role`: Invalid option: expected one of "owner"|"viewer".'],
  [{ url: '', mapping: { email: 1, mail: 2 } }, '`mapping` must be an object.'],
])('%j is refused: %s', (body, message) => {
  expect(() => readBody(shape, body)).toThrow(message)
})
