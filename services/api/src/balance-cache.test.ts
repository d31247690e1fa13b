import { expect, test } from 'vitest'
import { createBalanceCache } from './balance-cache.ts'

test('a balance above zero is cached for a second, one of zero is read again', async () => {
  let time = 0
  let stored = 5
  let reads = 0
  const balances = createBalanceCache(
    async () => {
      reads += 1
      return stored
    },
    () => time,
  )
  expect(await balances.recent('a')).toBe(5)
  stored = 0
  time += 900
  expect(await balances.recent('a')).toBe(5)
  time += 200
  expect(await balances.recent('a')).toBe(0)
  expect(reads).toBe(2)
  stored = 7
  expect(await balances.shown('a')).toBe(0)
  expect(await balances.recent('a')).toBe(7)
  balances.note('a', 6)
  expect(await balances.recent('a')).toBe(6)
  expect(reads).toBe(3)
  expect(await balances.now('a')).toBe(7)
})
