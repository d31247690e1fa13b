import { expect, test } from 'vitest'
import { createStorageQuota } from './storage-quota.ts'

/** A space of 100 bytes over a store that has what is said. */
function openSpace(stored = 0) {
  const state = { stored, reads: 0, nowMs: 0 }
  const space = createStorageQuota(
    100,
    async () => {
      state.reads += 1
      return state.stored
    },
    () => state.nowMs,
  )
  return { state, space }
}

const FULL = 'The files of the account would exceed its space'

test('files on their way in count together, and with those of the store', async () => {
  const { space } = openSpace(20)
  using first = space.open('a')
  using second = space.open('a')
  using other = space.open('b')
  await first.take(40)
  await second.take(40)
  await expect(second.take(1)).rejects.toThrow(FULL)
  await other.take(80)
})

test('what a file took is free when it is gone, and stays taken when it is stored', async () => {
  const { space, state } = openSpace()
  using first = space.open('a')
  const second = space.open('a')
  await second.take(100)
  second[Symbol.dispose]()
  await first.take(60)
  first.stored()
  using third = space.open('a')
  await expect(third.take(41)).rejects.toThrow(FULL)
  expect(state.reads).toBe(1)
})

test('a file is refused by what the store has now, which is asked at most once a second', async () => {
  const { space, state } = openSpace(90)
  using file = space.open('a')
  await expect(file.take(20)).rejects.toThrow(FULL)
  state.stored = 0
  await expect(file.take(0)).rejects.toThrow(FULL)
  state.nowMs = 1_000
  await file.take(0)
  expect(state.reads).toBe(2)
})

test('nothing is remembered of accounts that send nothing', async () => {
  const { space, state } = openSpace(0)
  for (let round = 0; round < 3; round += 1) {
    using file = space.open('a')
    await file.take(100)
  }
  expect(state.reads).toBe(3)
})
