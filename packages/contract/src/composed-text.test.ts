import { expect, test } from 'vitest'
import { composed } from './composed-text.ts'

test.each([
  ['e\u0301', '\u00e9'],
  ['ada', 'ada'],
  ['\u1112\u1161\u11ab', '\ud55c'],
  [`e\u0301${'\u0316'.repeat(29)}`, `\u00e9${'\u0316'.repeat(29)}`.normalize('NFC')],
])('a text has its NFC: %j', (text, form) => {
  expect(composed(text)).toBe(form)
})

test('a text that no writing has stays as it is', () => {
  const text = `e${'\u0301\u0316'.repeat(20)}`
  expect(composed(text)).toBe(text)
})

test('marks in any order take time linear in their number', () => {
  const startedMs = performance.now()
  composed(`a${'\u0301\u0316'.repeat(500_000)}`)
  composed(`a${'\u0301\u0316'.repeat(15)}`.repeat(30_000))
  expect(performance.now() - startedMs).toBeLessThan(10_000)
})
