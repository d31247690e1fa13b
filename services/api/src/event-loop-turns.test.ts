import { setImmediate as round } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createTurns, ROUNDS_A_TURN } from './event-loop-turns.ts'

test('turns come in the order of asking, and between two the event loop goes round several times', async () => {
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
  expect(rounds).toBeGreaterThanOrEqual(2 * ROUNDS_A_TURN)
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
