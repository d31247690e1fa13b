import { expect, test } from 'vitest'
import { SPECIAL_BLOCKS, isGloballyReachable } from '@plumbline/net/special-addresses'
import { formatAddress, parseAddress, parseBlock } from '@plumbline/net/address-bytes'
import { createRoutabilityJudge } from './routability.ts'

const judge = createRoutabilityJudge()

function reachable(text: string): boolean | undefined {
  const address = parseAddress(text)
  return address === null ? undefined : judge(address).reachable
}

test.each([
  ['8.8.8.8', true],
  ['10.0.0.1', false],
  ['192.0.0.9', true],
  ['192.0.0.8', false],
  ['192.88.99.1', false],
  ['224.0.0.1', false],
  ['2606:4700:4700::1111', true],
  ['2001:db8::1', false],
  ['100:0:0:1::', false],
  ['4000::1', false],
  ['::8.8.8.8', false],
  ['::ffff:8.8.8.8', true],
  ['::ffff:10.0.0.1', false],
  ['64:ff9b::8.8.8.8', true],
  ['64:ff9b::10.0.0.1', false],
  ['2002:808:808::1', true],
  ['2002:a00:1::1', false],
  ['2001:0:1:2:3:4:f7f7:f7f7', true],
  ['2001:0:1:2:3:4:f5ff:fffe', false],
])('%s is reachable: %s', (text, expected) => {
  expect(reachable(text)).toBe(expected)
})

test('the result is that of the egress guard at every edge of every special block', () => {
  for (const { cidr } of SPECIAL_BLOCKS) {
    const block = parseBlock(cidr)
    if (block === null) continue
    for (const edge of [block.first, block.last]) {
      for (const text of [
        formatAddress(edge),
        formatAddress(neighbour(edge, 1)),
        formatAddress(neighbour(edge, -1)),
      ]) {
        expect([text, reachable(text)]).toEqual([text, isGloballyReachable(text)])
      }
    }
  }
})

function neighbour(address: Uint8Array, step: 1 | -1): Uint8Array {
  const result = address.slice()
  for (let index = result.length - 1; index >= 0; index--) {
    const value = (result[index] ?? 0) + step
    result[index] = value & 0xff
    if (value >= 0 && value <= 0xff) break
  }
  return result
}
