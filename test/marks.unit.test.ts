import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { findMarks } from '@plumbline/testkit/marks'

const find = findMarks(['MarkedWord', '4179481623'], ['ada@marked.example'])

test.each([
  ['a word in any case', 'before mArKeDwOrD after'],
  ['digits', '+41794816234'],
  ['base64, wherever it begins', Buffer.from('x MarkedWord y').toString('base64')],
  ['base64url', Buffer.from('xy MarkedWord z').toString('base64url')],
  ['hexadecimal', Buffer.from('xyz MarkedWord').toString('hex')],
  ['a bare hash', createHash('sha256').update('ada@marked.example').digest('base64url')],
])('a mark is found as %s', (_, text) => {
  expect(find('here', text)).toMatchObject([{ place: 'here' }])
})

test('a text without a mark has no occurrences', () => {
  expect(find('here', 'marked words, 417948')).toEqual([])
})
