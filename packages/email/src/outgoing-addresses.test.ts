import { expect, test } from 'vitest'
import { outgoingAddresses } from './outgoing-addresses.ts'

test('an address counts once, however it is written', () => {
  const given = ['2001:DB8::1', '192.0.2.1', '2001:db8:0:0:0:0:0:1', '192.0.2.2', '192.0.2.1']
  expect(outgoingAddresses(given)).toEqual(['2001:db8::1', '192.0.2.1', '192.0.2.2'])
  expect(outgoingAddresses([])).toEqual([])
})

test.each(['mail.example', '192.0.2.256', '192.0.2.1/32', 'fe80::1%eth0', ''])(
  '%s is refused as an outgoing address',
  (text) => {
    expect(() => outgoingAddresses(['192.0.2.1', text])).toThrow(/expected an IP address.*, got/)
  },
)
