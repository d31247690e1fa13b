import { expect, test } from 'vitest'
import { readName, toAscii } from './name.ts'

test.each([
  ['Example.CO.UK.', 'example.co.uk', 'example.co.uk'],
  ['a.b.example.com', 'a.b.example.com', 'example.com'],
  ['bücher.example.de', 'xn--bcher-kva.example.de', 'example.de'],
  ['user.github.io', 'user.github.io', 'github.io'],
  ['例え。日本', 'xn--r8jz45g.xn--wgv71a', 'xn--r8jz45g.xn--wgv71a'],
  ['r3---sn.example.com', 'r3---sn.example.com', 'example.com'],
  ['city.kawasaki.jp', 'city.kawasaki.jp', 'city.kawasaki.jp'],
])('%s is the name %s, registered as %s', (text, ascii, registrable) => {
  expect(readName(text)).toMatchObject({ kind: 'name', ascii, registrable })
})

test.each([
  ['', 'empty'],
  ['.', 'empty'],
  ['a..b', 'empty_label'],
  ['a。。ü', 'empty_label'],
  ['localhost', 'reserved_suffix'],
  ['x.onion', 'reserved_suffix'],
  ['word', 'single_label'],
  ['com', 'public_suffix'],
  ['co.uk', 'public_suffix'],
  ['192.0.2.1', 'address'],
  ['[2001:db8::1]', 'address'],
  ['1.2.3.4.5', 'address'],
  ['a_b.com', 'forbidden_character'],
  ['a b.com', 'not_idna'],
  ['-a.com', 'hyphen'],
  ['xn--a.com', 'not_idna'],
  [`${'a'.repeat(64)}.com`, 'label_too_long'],
  [`${'a.'.repeat(130)}com`, 'too_long'],
])('%s is refused as %s', (text, fault) => {
  expect(readName(text)).toMatchObject({ kind: 'bad', fault })
})

test('thousands of texts with hundreds of letters are refused as fast as names are read', () => {
  const letters = Array.from({ length: 990 }, (_, at) => String.fromCharCode(0x4e00 + at * 7))
  const text = letters.join('')
  const beganMs = performance.now()
  // Converted, they would take minutes.
  for (let count = 0; count < 40_000; count++) readName(text)
  expect(performance.now() - beganMs).toBeLessThan(20_000)
  expect(readName(text)).toEqual({ kind: 'bad', fault: 'not_idna' })
  expect(readName(`${text}..com`)).toEqual({ kind: 'bad', fault: 'empty_label' })
})

test('ß is not replaced by ss, and names of mixed text direction are refused', () => {
  expect(toAscii('straße.de')).toBe('xn--strae-oqa.de')
  expect(toAscii('aא.com')).toBeNull()
})

test('a public suffix of several labels is a name of the DNS, one of a single label is none', () => {
  expect(readName('GOV.UK')).toMatchObject({ suffix: { ascii: 'gov.uk', registrable: 'gov.uk' } })
  expect(readName('com')).toEqual({ kind: 'bad', fault: 'public_suffix' })
})
