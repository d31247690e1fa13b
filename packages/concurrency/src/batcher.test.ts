import { describe, expect, test } from 'vitest'
import { createBatcher } from './batcher.ts'

describe('createBatcher', () => {
  test('items of the same moment share one run, later ones the next', async () => {
    const runs: (readonly number[])[] = []
    const double = createBatcher(
      async (items: readonly number[]) => {
        runs.push(items)
        await Promise.resolve()
        return items.map((item) => item * 2)
      },
      { maxItems: 10 },
    )
    expect(await Promise.all([double(1), double(2), double(3)])).toEqual([2, 4, 6])
    expect(await double(4)).toBe(8)
    expect(runs).toEqual([[1, 2, 3], [4]])
  })

  test('a run is bounded, and so is how many are under way', async () => {
    let underWay = 0
    let most = 0
    const sizes: number[] = []
    const echo = createBatcher(
      async (items: readonly number[]) => {
        sizes.push(items.length)
        underWay += 1
        most = Math.max(most, underWay)
        await new Promise(setImmediate)
        underWay -= 1
        return items
      },
      { maxItems: 4, maxRuns: 2 },
    )
    const all = Array.from({ length: 10 }, (_, index) => index)
    expect(await Promise.all(all.map(echo))).toEqual(all)
    expect(sizes).toEqual([4, 4, 2])
    expect(most).toBe(2)
  })

  test('after a run it waits for more items if so configured', async () => {
    const runs: (readonly number[])[] = []
    const note = createBatcher(
      async (items: readonly number[]) => {
        runs.push(items)
        return items
      },
      { maxItems: 10, delayMs: () => 200 },
    )
    await note(1)
    const second = note(2)
    // Turns of the loop that would each have begun a run of their own.
    await new Promise(setImmediate)
    await Promise.all([second, note(3)])
    expect(runs).toEqual([[1], [2, 3]])
  })

  test('a run that throws rejects its own items only', async () => {
    const check = createBatcher(
      async (items: readonly number[]) => {
        if (items.includes(1)) throw new Error('bad run')
        return items
      },
      { maxItems: 1 },
    )
    const [bad, good] = await Promise.allSettled([check(1), check(2)])
    expect(bad.status).toBe('rejected')
    expect(good).toEqual({ status: 'fulfilled', value: 2 })
  })
})
