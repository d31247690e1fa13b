import { expect, test } from 'vitest'
import { partWanted } from './byte-range.ts'

const FILE = { bytes: 1_000, etag: '"abc"' }

test.each([
  ['bytes=0-', 0, 999],
  ['bytes=10-19', 10, 19],
  ['bytes=999-', 999, 999],
  ['bytes=0-5000', 0, 999],
  ['bytes=-1', 999, 999],
  ['bytes=-5000', 0, 999],
  ['Bytes=1-2', 1, 2],
])('%s is a range of the file', (range, start, end) => {
  expect(partWanted({ range }, FILE)).toEqual({ kind: 'part', range: { start, end } })
})

test.each(['bytes=1000-', 'bytes=5000-6000', 'bytes=-0', 'bytes=9999999999999999-'])(
  '%s is outside of the file',
  (range) => {
    expect(partWanted({ range }, FILE)).toEqual({ kind: 'outside' })
  },
)

test.each(['bytes=-', 'bytes=2-1', 'bytes=0-1,3-4', 'lines=1-2', 'bytes=a-b', 'bytes=1-2x', ''])(
  '%s is ignored, and the whole file sent',
  (range) => {
    expect(partWanted({ range }, FILE)).toEqual({ kind: 'whole' })
  },
)

test('a range counts for GET alone: HEAD tells the length of the file', () => {
  for (const range of ['bytes=0-1', 'bytes=1000-']) {
    expect(partWanted({ range }, FILE, 'HEAD')).toEqual({ kind: 'whole' })
  }
  expect(partWanted({ 'if-none-match': '"abc"' }, FILE, 'HEAD')).toEqual({ kind: 'unchanged' })
})

test('for a range of other content the whole file is sent', () => {
  const range = 'bytes=0-1'
  const part = { kind: 'part', range: { start: 0, end: 1 } }
  expect(partWanted({ range, 'if-range': '"abc"' }, FILE)).toEqual(part)
  for (const other of ['"abd"', 'W/"abc"', 'Wed, 21 Oct 2026 07:28:00 GMT']) {
    expect(partWanted({ range, 'if-range': other }, FILE)).toEqual({ kind: 'whole' })
  }
})

test('a file that the client has is not sent again', () => {
  for (const known of ['"abc"', '"x", W/"abc"', '*']) {
    const headers = { 'if-none-match': known, range: 'bytes=5000-' }
    expect(partWanted(headers, FILE)).toEqual({ kind: 'unchanged' })
  }
  expect(partWanted({ 'if-none-match': '"x"' }, FILE)).toEqual({ kind: 'whole' })
})
