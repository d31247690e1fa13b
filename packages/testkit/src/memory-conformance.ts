import type { Memory } from '@plumbline/ports/memory'
import { expect, test, vi } from 'vitest'
import { PATIENT } from './patience.ts'

/**
 * Tests of every `Memory`; `open` returns an empty one, or one whose keys no other test uses.
 */
export function testMemory(open: () => Memory): void {
  const hour = 3_600_000

  test('values are returned in the order of the keys, absent ones as undefined', async () => {
    const memory = open()
    const value = { code: 250, text: 'ok \u0001 "é" 漢', list: [1, null, true], zero: 0 }
    await memory.set([
      { key: 'a', value, ttlMs: hour },
      { key: 'b', value: null, ttlMs: hour },
    ])
    expect(await memory.get(['b', 'missing', 'a', 'a'])).toEqual([null, undefined, value, value])
    expect(await memory.get([])).toEqual([])
  })

  test('a new value of a key replaces the old one', async () => {
    const memory = open()
    await memory.set([
      { key: 'k', value: 1, ttlMs: hour },
      { key: 'k', value: 2, ttlMs: hour },
    ])
    expect(await memory.get(['k'])).toEqual([2])
    await memory.set([{ key: 'k', value: 3, ttlMs: hour }])
    expect(await memory.get(['k'])).toEqual([3])
  })

  test('a deleted value is absent', async () => {
    const memory = open()
    await memory.set([
      { key: 'gone', value: 1, ttlMs: hour },
      { key: 'kept', value: 2, ttlMs: hour },
    ])
    await memory.delete(['gone', 'never'])
    expect(await memory.get(['gone', 'kept'])).toEqual([undefined, 2])
  })

  test('a value expires, and then the key can be claimed', async () => {
    const memory = open()
    await memory.set([{ key: 'short', value: 1, ttlMs: 40 }])
    await vi.waitFor(async () => expect(await memory.get(['short'])).toEqual([undefined]), PATIENT)
    expect(await memory.claim({ key: 'short', value: 2, ttlMs: hour })).toBe(true)
    expect(await memory.get(['short'])).toEqual([2])
  })

  test('of many concurrent claims on one key exactly one succeeds, and its value is stored', async () => {
    const memory = open()
    const claims = Array.from({ length: 50 }, (_, value) => value)
    const won = await Promise.all(
      claims.map((value) => memory.claim({ key: 'one', value, ttlMs: hour })),
    )
    expect(won.filter(Boolean)).toHaveLength(1)
    expect(await memory.get(['one'])).toEqual([won.indexOf(true)])
  })

  test('a thousand operations at once on shared keys all end', async () => {
    const memory = open()
    await Promise.all(
      Array.from({ length: 1_000 }, async (_, index) => {
        const keys = [`k${index % 17}`, `k${index % 13}`]
        if (index % 5 === 0) return memory.delete(keys)
        if (index % 3 === 0) return memory.get(keys)
        return memory.set(keys.map((key) => ({ key, value: index, ttlMs: hour })))
      }),
    )
    expect(await memory.get(['k16'])).toHaveLength(1)
  })

  test('an invalid lifetime is refused', async () => {
    await expect(open().set([{ key: 'k', value: 1, ttlMs: 0 }])).rejects.toThrow(RangeError)
    await expect(open().claim({ key: 'k', value: 1, ttlMs: Number.NaN })).rejects.toThrow(
      RangeError,
    )
  })
}
