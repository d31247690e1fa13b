import { expect, test } from 'vitest'
import { createStorageQuota } from './storage-quota.ts'

/** A quota of 100 bytes, with `stored` bytes in the store. */
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

const FULL = 'The files of the account would exceed its'

test('files that are being received count together with stored ones', async () => {
  const { space } = openSpace(20)
  using first = space.open('a')
  using second = space.open('a')
  using other = space.open('b')
  await first.take(40)
  await second.take(40)
  await expect(second.take(1)).rejects.toThrow(FULL)
  await other.take(80)
})

test('the bytes of a file are free when it is dropped, and stay counted when it is stored', async () => {
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

test('a file is refused by the current bytes of the store, which are read at most once a second', async () => {
  const { space, state } = openSpace(90)
  using file = space.open('a')
  await expect(file.take(20)).rejects.toThrow(FULL)
  state.stored = 0
  await expect(file.take(0)).rejects.toThrow(FULL)
  state.nowMs = 1_000
  await file.take(0)
  expect(state.reads).toBe(2)
})

test('the stored bytes of an account that sends many files are read every ten seconds', async () => {
  const { space, state } = openSpace(0)
  const send = async (): Promise<void> => {
    using file = space.open('a')
    await file.take(1)
    file.stored()
  }
  for (let round = 0; round < 5; round += 1) await send()
  expect(state.reads).toBe(1)
  state.nowMs = 10_000
  for (let round = 0; round < 5; round += 1) await send()
  expect(state.reads).toBe(2)
})

test('stored bytes stay cached for a thousand accounts that send nothing', async () => {
  const { space, state } = openSpace(0)
  const send = async (account: number): Promise<void> => {
    using file = space.open(`acc_${account}`)
    await file.take(1)
  }
  for (let account = 0; account <= 1_000; account += 1) await send(account)
  expect(state.reads).toBe(1_001)
  await send(1)
  expect(state.reads).toBe(1_001)
  await send(0)
  expect(state.reads).toBe(1_002)
})
