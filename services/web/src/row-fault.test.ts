import { expect, test } from 'vitest'
import * as format from './format.ts'
import { rowFault } from './row-fault.ts'

test.each([
  ['ip: is missing', 'The IP address is missing.'],
  [
    'ip: is not an IPv4 or IPv6 address; domain: is not a domain name',
    'The IP address is not an IPv4 or IPv6 address. The domain is not a domain name.',
  ],
  [
    'phone: has no country code; set default_country',
    'The phone number has no country code, which can be chosen under Columns before a batch is started.',
  ],
  [
    'canceled: the batch was canceled before this record was answered; phone: is missing',
    'The batch was canceled before this record was answered. The phone number is missing.',
  ],
  ['known: ZeroBounce says valid', 'ZeroBounce says valid.'],
  ['has 3 cells more than the header', 'Has 3 cells more than the header.'],
])('%j is shown as %j', (error, said) => {
  expect(rowFault(error)).toBe(said)
})

test("a time is shown in the reader's notation", () => {
  const at = '2026-11-23T19:30:00.000Z'
  expect(rowFault(`waiting: the server asked us to come back, not before ${at}`)).toBe(
    `The server asked us to come back, not before ${format.time(at)}.`,
  )
})
