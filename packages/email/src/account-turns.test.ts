import { expect, test } from 'vitest'
import { createAccountTurns } from './account-turns.ts'

const NONE: ReadonlyMap<string, number> = new Map()

test('accounts that hold equally many places are served in turn, and their items in order', () => {
  const turns = createAccountTurns<string>()
  for (const item of ['a1', 'a2', 'a3', 'a2']) turns.add('a', item)
  turns.add('b', 'b1')
  const order: string[] = []
  for (let next = turns.next(NONE); next !== null; next = turns.next(NONE)) {
    order.push(`${next.account} ${next.item}`)
    if (next.item === 'a1') turns.add('c', 'c1')
  }
  expect(order).toEqual(['a a1', 'b b1', 'a a2', 'c c1', 'a a3'])
  expect(turns.isEmpty).toBe(true)
})

test('the account that holds the fewest places is served first', () => {
  const turns = createAccountTurns<string>()
  for (const item of ['a1', 'a2']) turns.add('a', item)
  for (const item of ['b1', 'b2', 'b3']) turns.add('b', item)
  const held = new Map([['a', 2]])
  const order = Array.from({ length: 5 }, () => {
    const next = turns.next(held)
    if (next !== null) held.set(next.account, (held.get(next.account) ?? 0) + 1)
    return next?.item
  })
  expect(order).toEqual(['b1', 'b2', 'a1', 'b3', 'a2'])
})

test('an item is served for each account that waits for it', () => {
  const turns = createAccountTurns<string>()
  turns.add('a', 'shared')
  turns.add('b', 'shared')
  expect([...turns.accounts()]).toEqual(['a', 'b'])
  expect([turns.next(NONE), turns.next(NONE)].map((next) => next?.account)).toEqual(['a', 'b'])
  expect(turns.next(NONE)).toBe(null)
})
