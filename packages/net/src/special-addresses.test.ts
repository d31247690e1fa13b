import fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatAddress, parseAddress, parseBlock } from './address.ts'
import {
  SPECIAL_BLOCKS,
  embeddedIpv4,
  isGloballyReachable,
  specialBlockOf,
} from './special-addresses.ts'

test.each([
  ['8.8.8.8', true],
  ['192.0.0.9', true],
  ['192.0.0.11', false],
  ['192.31.196.1', true],
  ['192.88.99.1', false],
  ['100.64.0.1', false],
  ['100.128.0.0', true],
  ['233.252.0.1', false],
  ['255.255.255.255', false],
  ['2001:4860:4860::8888', true],
  ['2001:1::2', true],
  ['2001:1::4', false],
  ['2001:4:112::1', true],
  ['2001:db8::1', false],
  ['3fff:fff::1', false],
  ['3fff:1000::1', true],
  ['1::1', false],
  ['4000::1', false],
  ['fec0::1', false],
  ['100:0:0:1::1', false],
  ['::ffff:8.8.8.8', true],
  ['::ffff:10.0.0.1', false],
  ['::8.8.8.8', false],
  ['64:ff9b::808:808', true],
  ['64:ff9b::a00:1', false],
  ['64:ff9b:1::808:808', false],
  ['2002:808:808::1', true],
  ['2002:a00:1::1', false],
  ['2001:0:0:0:0:0:f7f7:f7f7', true],
  ['2001:0:808:808:0:0:f5ff:fffe', false],
  ['127.1', false],
  ['0177.0.0.1', false],
  ['fe80::1%eth0', false],
  ['', false],
])('%s is globally reachable: %s', (text, expected) => {
  expect(isGloballyReachable(text)).toBe(expected)
})

test('the most specific row of the table decides', () => {
  const anycast = parseAddress('192.0.0.10')
  expect(anycast && specialBlockOf(anycast)?.cidr).toBe('192.0.0.10/32')
  const prefixes = SPECIAL_BLOCKS.map((row) => row.block.prefix)
  expect(prefixes).toEqual(prefixes.toSorted((a, b) => b - a))
})

test('an embedded address is found in each format', () => {
  const forms = [
    '::ffff:1.2.3.4',
    '64:ff9b::1.2.3.4',
    '2002:102:304::',
    '2001::fefd:fcfb',
    '::1.2.3.4',
  ]
  for (const form of forms) {
    const address = parseAddress(form)
    const inner = address && embeddedIpv4(address)
    expect(inner && formatAddress(inner.address)).toBe('1.2.3.4')
  }
})

test('every IPv6 value is the same after formatting and parsing', () => {
  fc.assert(
    fc.property(fc.bigInt(0n, 2n ** 128n - 1n), fc.bigInt(0n, 127n), (value, shift) => {
      const address = { version: 6, value: value >> shift } as const
      expect(parseAddress(formatAddress(address))).toEqual(address)
    }),
  )
})

test('a malformed block is refused', () => {
  for (const text of ['10.0.0.0/33', '10.0.0/8', '::/129', '10.0.0.0/', '10.0.0.0/8/8', 'x']) {
    expect(parseBlock(text)).toBeNull()
  }
})
