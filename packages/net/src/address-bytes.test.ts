import { expect, test } from 'vitest'
import { formatAddress as formatNumber, parseAddress as parseNumber } from './address.ts'
import { formatAddress, parseAddress, parseBlock } from './address-bytes.ts'

test.each([
  '1',
  '1.2.3',
  '0x7f.1',
  '010.0.0.1',
  '1.2.3.4.5',
  '::1%eth0',
  '[::1]',
  '1.2.3.4/8',
  ' 1.2.3.4',
  '',
  ':::',
])('%j is not an address', (text) => {
  expect(parseAddress(text)).toBeNull()
})

test('addresses are parsed and formatted as by the egress guard', () => {
  let state = 3
  const byte = (): number => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return state % 3 === 0 ? 0 : (state >> 8) & 255
  }
  for (let round = 0; round < 2_000; round++) {
    const bytes = Uint8Array.from({ length: round % 2 === 0 ? 4 : 16 }, byte)
    const text = formatAddress(bytes)
    const number = parseNumber(text)
    expect(parseAddress(text)).toEqual(bytes)
    expect(number === null ? null : formatNumber(number)).toBe(text)
  }
})

test('an IPv6 address with a dotted tail is parsed', () => {
  expect(parseAddress('64:ff9b::8.8.8.8')).toEqual(parseAddress('64:ff9b::808:808'))
})

test('a block has its first and last address, a bare address is a block of one', () => {
  const text = (block: string): readonly string[] => {
    const parsed = parseBlock(block)
    return parsed === null ? [] : [formatAddress(parsed.first), formatAddress(parsed.last)]
  }
  expect(text('10.1.2.3/9')).toEqual(['10.0.0.0', '10.127.255.255'])
  expect(text('0.0.0.0/0')).toEqual(['0.0.0.0', '255.255.255.255'])
  expect(text('2001:db8::/33')).toEqual(['2001:db8::', '2001:db8:7fff:ffff:ffff:ffff:ffff:ffff'])
  expect(text('1.2.3.4')).toEqual(['1.2.3.4', '1.2.3.4'])
  for (const bad of ['1.2.3.4/33', '::/129', '1.2.3.4/', '1.2.3.4/-1', '1.2.3.4/1e1'])
    expect(text(bad)).toEqual([])
})
