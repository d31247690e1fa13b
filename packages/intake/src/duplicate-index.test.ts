import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createRowSet } from './row-set.ts'
import { createDuplicateIndex } from './duplicate-index.ts'

it('finds the first row of every duplicate, among any records', () => {
  const part = fc.option(fc.constantFrom('', 'a', 'b', 'ab', 'ba', 'a\0', '\0', 'é', 'aba'), {
    nil: undefined,
  })
  fc.assert(
    fc.property(fc.array(fc.tuple(part, part, part)), (records) => {
      const duplicates = createDuplicateIndex()
      const seen = new Map<string, number>()
      for (const [row, record] of records.entries()) {
        const key = JSON.stringify(record.map((text) => text ?? null))
        expect(duplicates.find(row, ...record)).toBe(seen.get(key) ?? -1)
        if (!seen.has(key)) seen.set(key, row)
      }
      expect(duplicates.count).toBe(seen.size)
    }),
  )
})

it('stores 300,000 records, with rows between them, in 24 bytes each', { timeout: 30_000 }, () => {
  const duplicates = createDuplicateIndex()
  let seen = 0
  for (let at = 0; at < 300_000; at++) {
    if (duplicates.find(at * 2, `user${at}@firm.example`) !== -1) seen += 1
  }
  let lost = 0
  for (let at = 0; at < 300_000; at += 7) {
    if (duplicates.find(1_000_000, `user${at}@firm.example`) !== at * 2) lost += 1
  }
  expect({ seen, lost }).toEqual({ seen: 0, lost: 0 })
  expect(duplicates.sizeBytes / 300_000).toBeLessThan(24)
})

it('a set of rows has its members by row, by rank, and as bits', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.nat(20_000), { maxLength: 300 }), (members) => {
      const rows = members.toSorted((a, b) => a - b)
      const set = createRowSet()
      for (const row of rows) set.add(row)
      for (const [rank, row] of rows.entries()) expect(set.at(rank)).toBe(row)
      const bits = set.toBuffer()
      const back = [...bits].flatMap((byte, at) =>
        [0, 1, 2, 3, 4, 5, 6, 7]
          .filter((bit) => ((byte >> bit) & 1) === 1)
          .map((bit) => at * 8 + bit),
      )
      expect(back).toEqual(rows)
      expect(set.has(20_001)).toBe(false)
    }),
    { numRuns: 200 },
  )
})
