import { expect, test } from 'vitest'
import { idsAfter, newTimedId } from './ids.ts'

test('ids of a batch sort by time, and two of one second differ', () => {
  const startMs = Date.parse('2026-11-23T12:00:00Z')
  const times = [0, 1, 61, 3_843, 3_844, 238_328, 40 * 365 * 86_400]
  const ids = times.map((seconds) => newTimedId('bat', startMs + seconds * 1_000))
  expect(ids.toSorted()).toEqual(ids)
  for (const id of ids) expect(id).toMatch(/^bat_[0-9A-Za-z]{20}$/)
  expect(ids.filter((id) => id > idsAfter('bat', startMs + 61_000))).toEqual(ids.slice(2))
  expect(newTimedId('lkp', startMs)).not.toBe(newTimedId('lkp', startMs))
})
