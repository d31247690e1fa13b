import { expect, test } from 'vitest'
import { readSource, sourceFiles } from './import-graph.ts'

const CONCURRENT = /\b(?:test|describe)\b[^\n]*\.concurrent\b/

test('tests that run side by side in one file wait by vi.waitFor', () => {
  // `expect.poll` asks which test runs, and where one of several has ended the answer is none.
  const polling = sourceFiles().filter((file) => {
    if (!file.endsWith('.test.ts')) return false
    const source = readSource(file)
    return CONCURRENT.test(source) && /\.poll\(/.test(source)
  })
  expect(polling).toEqual([])
})
