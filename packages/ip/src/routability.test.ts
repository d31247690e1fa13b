import { expect, test } from 'vitest'
import { parseAddress as parseNumeric } from '@plumbline/net/address'
import { formatAddress, parseAddress, parseBlock } from '@plumbline/net/address-bytes'
import { createEgress } from '@plumbline/net/egress'
import { SPECIAL_BLOCKS, embeddedIpv4, specialBlockOf } from '@plumbline/net/special-addresses'
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
  ['192.0.0.11', false],
  ['192.31.196.1', true],
  ['100.64.0.1', false],
  ['100.128.0.0', true],
  ['233.252.0.1', false],
  ['255.255.255.255', false],
  ['2001:4860:4860::8888', true],
  ['2001:1::2', true],
  ['2001:1::4', false],
  ['2001:4:112::1', true],
  ['3fff:fff::1', false],
  ['3fff:1000::1', true],
  ['1::1', false],
  ['0:0:0:1::ffff:808:808', false],
  ['fec0::1', false],
  ['100:0:0:1::1', false],
  ['64:ff9b::808:808', true],
  ['64:ff9b::a00:1', false],
  ['64:ff9b:1::808:808', false],
  ['2001:0:0:0:0:0:f7f7:f7f7', true],
  ['2001:0:808:808:0:0:f5ff:fffe', false],
])('%s is reachable: %s', (text, expected) => {
  expect(reachable(text)).toBe(expected)
})

test('each edge of a special block has the result of its row, and what the guard permits is reachable', () => {
  const guard = createEgress({ allow: [] })
  for (const { cidr } of SPECIAL_BLOCKS) {
    const block = parseBlock(cidr)
    if (block === null) continue
    for (const edge of [block.first, block.last]) {
      for (const bytes of [edge, neighbour(edge, 1), neighbour(edge, -1)]) {
        const text = formatAddress(bytes)
        expect([text, reachable(text)]).toEqual([text, reachableByRow(text)])
        if (guard.permits(text)) expect([text, reachable(text)]).toEqual([text, true])
      }
    }
  }
})

/** The result by the rows of the table, the most specific first, without sorted ranges. */
function reachableByRow(text: string): boolean | undefined {
  const address = parseNumeric(text)
  if (address === null) return undefined
  const inner = embeddedIpv4(address)
  const judged = inner === null || inner.form === 'compatible' ? address : inner.address
  const row = specialBlockOf(judged)
  return row === null || row.globallyReachable === true
}

function neighbour(address: Uint8Array, step: 1 | -1): Uint8Array {
  const result = address.slice()
  for (let index = result.length - 1; index >= 0; index--) {
    const value = (result[index] ?? 0) + step
    result[index] = value & 0xff
    if (value >= 0 && value <= 0xff) break
  }
  return result
}
