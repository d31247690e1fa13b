import { expect, test } from 'vitest'
import { createSlowOpenings } from './slow-openings.ts'

function openings(slowMax: number) {
  const clock = { nowMs: 0 }
  const displaced: string[] = []
  const all = createSlowOpenings({ slowMs: 1_000, slowMax }, () => clock.nowMs)
  const begin = (account: string, name: string) => all.begin(account, () => displaced.push(name))
  return { all, begin, clock, displaced }
}

test('slow openings beyond the limit are displaced, those of the account with the most and the newest first', () => {
  const { all, begin, clock, displaced } = openings(3)
  for (const name of ['a1', 'a2', 'a3', 'a4']) begin('a', name)
  begin('b', 'b1')
  clock.nowMs = 999
  all.displace(['b', 'a'])
  expect(displaced).toEqual([])
  clock.nowMs = 1_000
  all.displace(['b', 'a'])
  expect(displaced).toEqual(['a4', 'a3'])
  all.displace(['b', 'a'])
  expect(displaced).toEqual(['a4', 'a3'])
})

test('no opening is displaced for its own account', () => {
  const { all, begin, clock, displaced } = openings(1)
  for (const name of ['a1', 'a2', 'a3']) begin('a', name)
  clock.nowMs = 5_000
  all.displace([])
  all.displace(['a'])
  expect(displaced).toEqual([])
})

test('an opening whose host has replied or that has ended is not slow', () => {
  const { all, begin, clock, displaced } = openings(1)
  const heard = begin('a', 'heard')
  begin('a', 'ended')[Symbol.dispose]()
  begin('a', 'silent')
  clock.nowMs = 900
  heard.heard()
  clock.nowMs = 1_500
  all.displace(['b'])
  expect(displaced).toEqual([])
  clock.nowMs = 1_900
  all.displace(['b'])
  expect(displaced).toEqual(['silent'])
})
