import { expect, test } from 'vitest'
import { normalValue } from './normal-value.ts'

test.each([
  ['email', 'ADA@example.COM', 'ada@example.com'],
  ['email', 'Ö@BÜCHER.example.', 'ö@xn--bcher-kva.example'],
  ['email', '\u200f ada@example.com\u200b', 'ada@example.com'],
  ['phone', '+44 20 7946-0123', '442079460123'],
  ['ip', '2001:0DB8:0:0::7', '2001:db8::7'],
  ['ip', 'FE80::1%eth0', 'FE80::1%eth0'],
  ['domain', 'BÜCHER.Example..', 'xn--bcher-kva.example'],
  // Not that of the final sigma, which is another name.
  ['domain', 'ΟΔΟΣ-ΑΕ.example', 'xn----zlbhg0cb2a.example'],
  ['email', 'ada@ΟΔΟΣ-ΑΕ.example', 'ada@xn----zlbhg0cb2a.example'],
] as const)('values of %s have one form: %s', (check, value, normal) => {
  expect(normalValue(check, value)).toBe(normal)
})

test('thousands of texts that are no names have one as fast as names', () => {
  const letters = Array.from({ length: 990 }, (_, at) => String.fromCharCode(0x4e00 + at * 7))
  const text = letters.join('')
  const beganMs = performance.now()
  // Converted, they would take minutes.
  for (let count = 0; count < 40_000; count++) normalValue('domain', text)
  expect(performance.now() - beganMs).toBeLessThan(20_000)
  expect(normalValue('email', `Ada@${text}`)).toBe(`ada@${text}`)
})
