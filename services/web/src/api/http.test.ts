import { MESSAGES } from '@plumbline/contract/problem'
import { expect, test } from 'vitest'
import { refusalOf, sentenceOf } from './http.ts'

function told(message: string, headers: Readonly<Record<string, string>>): string {
  return sentenceOf(refusalOf('/v1/email', 500, JSON.stringify({ message }), new Headers(headers)))
}

test('a person is told what the headers of a refusal say, not to look at them', () => {
  expect(told(MESSAGES.internal, { 'X-Request-Id': 'req_1' })).toMatch(/ name request req_1 if /)
  expect(told(MESSAGES.too_many_requests, { 'Retry-After': '7' })).toMatch(/ after 7 seconds\.$/)
  expect(told(MESSAGES.too_many_requests, {})).toMatch(/ after a few seconds\.$/)
})
