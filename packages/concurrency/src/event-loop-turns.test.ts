import { setImmediate as round } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createTurns } from './event-loop-turns.ts'

test('turns are given in order of request, with several iterations of the event loop between two', async () => {
  const rounds = 4
  const turn = createTurns(rounds)
  const taken: number[] = []
  const all = Promise.all([1, 2, 3].map((no) => turn().then(() => taken.push(no))))
  let turnCount = 0
  const seen: number[] = []
  while (taken.length < 3) {
    await round()
    turnCount += 1
    seen.push(taken.length)
  }
  await all
  expect(taken).toEqual([1, 2, 3])
  expect(turnCount).toBeGreaterThanOrEqual(2 * rounds)
  expect(seen.every((count, at) => count - (seen[at - 1] ?? 0) <= 1)).toBe(true)
})

test('turns are given again after all waiting callers have had theirs', async () => {
  const turn = createTurns(1)
  await turn()
  await round()
  await round()
  await turn()
  expect(await Promise.all([turn(), turn()])).toHaveLength(2)
})
