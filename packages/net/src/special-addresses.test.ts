import fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatAddress, parseAddress, parseBlock } from './address.ts'
import { SPECIAL_BLOCKS, embeddedIpv4, specialBlockOf } from './special-addresses.ts'

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
