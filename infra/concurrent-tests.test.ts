import { expect, test } from 'vitest'
import { readSource, sourceFiles } from './import-graph.ts'

const CONCURRENT = /\b(?:test|describe)\b[^\n]*\.concurrent\b/

test('concurrent tests of one file wait with vi.waitFor', () => {
  // `expect.poll` needs the current test, which is unset once one of several has ended.
  const polling = sourceFiles().filter((file) => {
    if (!file.endsWith('.test.ts')) return false
    const source = readSource(file)
    return CONCURRENT.test(source) && /\.poll\(/.test(source)
  })
  expect(polling).toEqual([])
})
