import { expect, test } from 'vitest'
import { parseAddress } from './address-bytes.ts'
import { pointerName, reversedName } from './reversed-name.ts'

test.each([
  ['1.2.3.4', '4.3.2.1.z.example', '4.3.2.1.in-addr.arpa'],
  [
    '2001:db8::1',
    `1.${'0.'.repeat(23)}8.b.d.0.1.0.0.2.z.example`,
    '1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa',
  ],
])('%s has the names %s and %s', (text, inZone, pointer) => {
  const address = parseAddress(text) ?? new Uint8Array(4)
  expect(reversedName(address, 'z.example')).toBe(inZone)
  expect(pointerName(address)).toBe(pointer)
})
