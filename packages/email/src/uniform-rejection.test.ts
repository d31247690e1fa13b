import { expect, test } from 'vitest'
import { createUniformRejection, type UniformRejection } from './uniform-rejection.ts'

const HALF_HOUR_MS = 30 * 60_000

/** Whether the refusal of each address in turn is one of a server that refuses everybody. */
function refusals(
  uniform: UniformRejection,
  words: (address: string) => string,
  names = ['ann', 'bob', 'cyd'],
): boolean[] {
  return names.map((name) => {
    const address = `${name}@a.test`
    return uniform.refused('group', address, words(address))
  })
}

const REFUSED = [false, false, true]

test.each<[string, (address: string) => string, boolean[]]>([
  ['the same', () => 'access denied', REFUSED],
  ['the same with the address', (address) => `<${address}> denied`, REFUSED],
  ['the same with the address in capitals', (address) => `${address.toUpperCase()} no`, REFUSED],
  ['the same with the name', (address) => `no ${address.slice(0, 3).toUpperCase()} here`, REFUSED],
  ['the same with a number', (address) => `denied 2${address.codePointAt(1)}x-1`, REFUSED],
  ['of other words', (address) => `denied ${address.slice(0, 1)}`, [false, false, false]],
  [
    'the same in what is compared of it',
    (address) => `denied ${'.'.repeat(3_000)}${address.slice(0, 1)}`,
    REFUSED,
  ],
])('three addresses refused with a text that is %s', (_, words, expected) => {
  expect(
    refusals(
      createUniformRejection(() => 0),
      words,
    ),
  ).toEqual(expected)
})

test('an address that is refused three times is one', () => {
  const uniform = createUniformRejection(() => 0)
  expect(refusals(uniform, () => 'denied', ['ann', 'ann', 'ann'])).toEqual([false, false, false])
})

test('an accepted recipient starts the count again, and for half an hour nothing counts', () => {
  let nowMs = 0
  const uniform = createUniformRejection(() => nowMs)
  refusals(uniform, () => 'denied', ['ann', 'bob'])
  uniform.accepted('group')
  expect(refusals(uniform, () => 'denied')).toEqual([false, false, false])
  nowMs = HALF_HOUR_MS - 1
  expect(refusals(uniform, () => 'denied')).toEqual([false, false, false])
  nowMs = HALF_HOUR_MS
  expect(refusals(uniform, () => 'denied')).toEqual(REFUSED)
})

test('refusals of half an hour ago do not count', () => {
  let nowMs = 0
  const uniform = createUniformRejection(() => nowMs)
  refusals(uniform, () => 'denied', ['ann', 'bob'])
  nowMs = HALF_HOUR_MS + 1
  expect(refusals(uniform, () => 'denied')).toEqual(REFUSED)
})

test('a server whose texts keep changing does not refuse everybody alike', () => {
  const uniform = createUniformRejection(() => 0)
  const said = ['one', 'one', 'two', 'three', 'four', 'one']
  const results = said.map((text, at) => uniform.refused('group', `u${at}@a.test`, text))
  expect(results).toEqual(said.map(() => false))
})
