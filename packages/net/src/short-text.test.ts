import { expect, test } from 'vitest'
import { shortText } from './short-text.ts'

test('a text is cut to 200 characters, between code points', () => {
  expect(shortText('a'.repeat(200))).toHaveLength(200)
  expect(shortText('a'.repeat(512_000))).toBe('a'.repeat(200))
  expect(shortText('😀'.repeat(101))).toBe('😀'.repeat(100))
  expect(shortText(`a${'😀'.repeat(101)}`)).toBe(`a${'😀'.repeat(99)}`)
})
