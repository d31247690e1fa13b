import { expect, test } from 'vitest'
import { sayValues, valuesByKind } from './values-by-kind.ts'

test('pasted values are sorted by their form, without duplicates', () => {
  const pasted = [
    'ada@example.com',
    ' ada@example.com ',
    '"a b"@example.com',
    '+44 20 7946-0123',
    '+442079460123',
    '+1 (212) 555-0100',
    '192.0.2.1',
    '2001:db8::1',
    'example.com',
    'EXAMPLE.co.uk.',
    'مثال.إختبار',
    '',
  ]
  const values = valuesByKind(pasted.join('\r\n'))
  expect(values).toEqual({
    email: ['ada@example.com', '"a b"@example.com'],
    phone: ['+442079460123', '+12125550100'],
    ip: ['192.0.2.1', '2001:db8::1'],
    domain: ['example.com', 'EXAMPLE.co.uk.', 'مثال.إختبار'],
    unread: [],
  })
  expect(sayValues(values)).toBe('2 emails, 2 phone numbers, 2 IPs, 3 domains')
})

test('invalid values are reported, and never taken for another kind', () => {
  const lines = [
    '020 7946 0123',
    '+1234567890123456',
    '192.0.2.256',
    '192.0.2.1.4',
    '2001:db8::1::2',
    'Ada Lovelace',
    'https://example.com/path',
    'example',
    'ada@',
    '@example.com',
    '..',
    '<img src=x onerror=alert(1)>',
    'مثال فقط',
    `${'a.'.repeat(5_000)}example`,
  ]
  const values = valuesByKind(lines.join('\n'))
  expect(values.unread).toEqual(lines)
  expect(sayValues(values)).toBe('')
})

test('a line with more than an address is not taken for one, which would erase nothing', () => {
  const lines = [
    'ada@example.com, bob@example.com',
    'ada@example.com;bob@example.com',
    'ada@example.com bob@example.com',
    'Ada Lovelace <ada@example.com>',
    'Ada\tada@example.com',
    'Ada,ada@example.com',
    'mailto:ada@example.com',
    '"ada@example.com"',
    'ada@example.com;',
    'ada@example.com,',
  ]
  expect(valuesByKind(lines.join('\n')).unread).toEqual(lines)
})
