import { setImmediate as round } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createTurns } from './event-loop-turns.ts'

test('each round of the event loop has one turn, in the order of asking', async () => {
  const turn = createTurns()
  const taken: number[] = []
  const all = Promise.all([1, 2, 3].map((no) => turn().then(() => taken.push(no))))
  let rounds = 0
  const seen: number[] = []
  while (taken.length < 3) {
    await round()
    rounds += 1
    seen.push(taken.length)
  }
  await all
  expect(taken).toEqual([1, 2, 3])
  expect(rounds).toBeGreaterThanOrEqual(3)
  expect(seen.every((count, at) => count - (seen[at - 1] ?? 0) <= 1)).toBe(true)
})

test('turns come again after all have had theirs', async () => {
  const turn = createTurns()
  await turn()
  await round()
  await round()
  await turn()
  expect(await Promise.all([turn(), turn()])).toHaveLength(2)
})
