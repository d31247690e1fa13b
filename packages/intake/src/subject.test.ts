import { CHECKS } from '@plumbline/contract/products'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  cellReaders,
  cellText,
  readDomain,
  readEmail,
  readIp,
  readPhone,
  type Reading,
} from './subject.ts'

describe('phones', () => {
  it.each([
    ['+442079460958', undefined, '+442079460958'],
    ['+1', undefined, '+1'],
    ['+44 20 7946 0958', undefined, '+442079460958'],
    ['+44 (0)20 7946 0958', undefined, '+442079460958'],
    ['(+44) 20 7946 0958', undefined, '+442079460958'],
    ['(+971)0501234567', undefined, '+971501234567'],
    ['Tel: +44 20 7946 0958', undefined, '+442079460958'],
    ['+44 020 7946 0958', undefined, '+442079460958'],
    ['+49-0151-12345678', undefined, '+4915112345678'],
    ['+39 06 6982 1234', undefined, '+390669821234'],
    ['+225 01 23 45 67 89', undefined, '+2250123456789'],
    ['+7 8 495 123 45 67', undefined, '+74951234567'],
    ['+370 8612 34567', undefined, '+37061234567'],
    ['+375 8 029 123 45 67', undefined, '+375291234567'],
    ['+54 11 15 2345 6789', undefined, '+5491123456789'],
    ['+1 0 415 555 2671', undefined, '+104155552671'],
    ['+999 0 1234 5678', undefined, '+999012345678'],
    ['+1 (415) 555-2671', undefined, '+14155552671'],
    ['tel:+1-415-555-2671', undefined, '+14155552671'],
    ['p:+14155552671', undefined, '+14155552671'],
    ["'+442079460958", undefined, '+442079460958'],
    ['020 7946 0958', 'GB', '+442079460958'],
    ['(415) 555-2671 ext. 5', 'US', '+14155552671'],
    ['+44 (0)20 7946 0958', 'AQ', '+442079460958'],
    ['0049 30 123456', 'GB', '+4930123456'],
    ['030/123456', 'DE', '+4930123456'],
    ['442079460958', undefined, '+442079460958'],
    ['0044 20 7946 0958', undefined, '+442079460958'],
    ['4915112345678', 'GB', '+4915112345678'],
    ['(479) 212-3456', 'US', '+14792123456'],
    // No number of the USA, and none of Norway.
    ['(479) 012-3456', 'US', '+14790123456'],
    ['44 20 7946 0958', undefined, '+442079460958'],
    ['4155552671.0', 'US', '+14155552671'],
    ['442079460958.0', undefined, '+442079460958'],
    ['+4930123456.0', undefined, '+4930123456'],
    ["'030123456.00", 'DE', '+4930123456'],
    ['4930123456,0', 'DE', '+4930123456'],
    ['030 1234-0', 'DE', '+493012340'],
    ['0800.0000000', 'GB', '+448000000000'],
    ['٠٥٠١٢٣٤٥٦٧', 'AE', '+971501234567'],
    ['+٩٧١ ٥٠ ١٢٣ ٤٥٦٧', undefined, '+971501234567'],
    ['۰۹۱۲۳۴۵۶۷۸۹', 'IR', '+989123456789'],
    ['०९८१०१२३४५६', 'IN', '+919810123456'],
    ['＋８１（３）１２３４−５６７８', undefined, '+81312345678'],
    ['\u202a+44 20 7946 0958\u202c', undefined, '+442079460958'],
    ['\u2068020 7946 0958\u2069', 'GB', '+442079460958'],
    ['+442079460958\u200e', undefined, '+442079460958'],
    ['+33\u202f6\u202f12\u202f34\u202f56\u202f78', undefined, '+33612345678'],
  ] as const)('%j of %s is %s', (text, country, e164) => {
    expect(readPhone(text, country)).toEqual({ subject: e164 })
  })

  it.each([
    ['4.47912E+11', undefined, /rounded by a spreadsheet/],
    ['4,47912E+11', 'GB', /rounded by a spreadsheet/],
    ['020 7946 0958', undefined, /set default_country/],
    ['020 7946 0958', 'AQ', /cannot be read/],
    ['call me', 'GB', /not a phone number/],
    ['1', 'GB', /cannot be read/],
    ['+1234567890123456', undefined, /cannot be read/],
    ['4155552671.0', undefined, /set default_country/],
    ['(479) 212-3456', undefined, /set default_country/],
    ['479-212-3456', undefined, /set default_country/],
    ['479.212.3456', 'AQ', /cannot be read/],
  ] as const)('%j of %s cannot be read', (text, country, fault) => {
    const reading = readPhone(text, country)
    expect(reading.subject).toBeUndefined()
    expect('fault' in reading && reading.fault).toMatch(fault)
  })
})

it.each([
  ['192.0.2.1', '192.0.2.1'],
  ['2001:DB8:0:0::1', '2001:db8::1'],
  ['::ffff:192.0.2.1', '::ffff:c000:201'],
  ['192.0.2.01', undefined],
  ['192.0.2', undefined],
  ['0x7f.1', undefined],
  ['3221225985', undefined],
  ['fe80::1%eth0', undefined],
  ['[2001:db8::1]', undefined],
  ['192.0.2.1:80', undefined],
  ['192.0.2.0/24', undefined],
])('the IP cell %j reads as %s', (text, subject) => {
  expect(keyOf(readIp(text))).toBe(subject)
})

it.each([
  ['Example.COM', 'example.com'],
  ['example.com.', 'example.com'],
  ['https://www.example.com/a?b#c', 'www.example.com'],
  ['http://user@example.com:8080/', 'example.com'],
  ['example.com/path', 'example.com'],
  ['example.com:443', 'example.com'],
  ['//example.com', 'example.com'],
  ['Bücher.example', 'xn--bcher-kva.example'],
  ['XN--BCHER-KVA.example', 'xn--bcher-kva.example'],
  // Decomposed, and with a soft hyphen: checks may judge these differently.
  ['bu\u0308cher.example', 'bu\u0308cher.example'],
  ['bü\u00adcher.example', 'bü\u00adcher.example'],
  // With a final sigma it would be another name.
  ['ΟΔΟΣ-ΑΕ.example', 'xn----zlbhg0cb2a.example'],
  ['under_score.example', 'under_score.example'],
  ['a@example.com', undefined],
  ['a b.example', undefined],
  ['192.0.2.1', undefined],
  ['http://192.0.2.1/', undefined],
  ['2130706433', undefined],
  ['2001:db8::1', undefined],
  ['http://[2001:db8::1]/', undefined],
  ['ftp://example.com', undefined],
  // Not the name of a single call, which takes one trailing dot.
  ['example.com..', 'example.com.'],
  ['.', undefined],
  ['..', undefined],
])('the domain cell %j reads as %s', (text, subject) => {
  expect(keyOf(readDomain(text))).toBe(subject)
})

it.each([
  ['Ann@Firm.EXAMPLE', 'Ann@firm.example'],
  ['"a@B"@C.example', '"a@B"@c.example'],
  ['ann@Straße.example', 'ann@xn--strae-oqa.example'],
  ['ann@xn--STRAE-oqa.example', 'ann@xn--strae-oqa.example'],
  ['Ärn@bücher.example', 'Ärn@xn--bcher-kva.example'],
  ['ann@bü cher.example', 'ann@bü cher.example'],
  ['Ann@ΟΔΟΣ-ΑΕ.example', 'Ann@xn----zlbhg0cb2a.example'],
  ['no address', 'no address'],
  ['@', '@'],
])('the email cell %j reads as %s', (text, subject) => {
  expect(keyOf(readEmail(text))).toBe(subject)
})

it('thousands of texts that are no names are read as fast as names', () => {
  const letters = Array.from({ length: 990 }, (_, at) => String.fromCharCode(0x4e00 + at * 7))
  const text = letters.join('')
  const beganMs = performance.now()
  // Converted, they would take minutes.
  for (let count = 0; count < 20_000; count++) {
    readEmail(`ann@${text}`)
    readDomain(text)
  }
  expect(performance.now() - beganMs).toBeLessThan(20_000)
  expect(keyOf(readDomain(text))).toBe(text)
})

it('the checked value is the written one, as in a single call', () => {
  expect(readEmail('Ann@Firm.EXAMPLE').subject).toBe('Ann@Firm.EXAMPLE')
  expect(readIp('2001:DB8::1').subject).toBe('2001:DB8::1')
  expect(readEmail('ann@bücher.example').subject).toBe('ann@bücher.example')
  expect(readDomain('Firm.EXAMPLE').subject).toBe('Firm.EXAMPLE')
  expect(readDomain('https://Firm.EXAMPLE/x').subject).toBe('Firm.EXAMPLE')
})

it.each([
  ['="020 7946 0958"', '020 7946 0958'],
  [' =" (+1) 415-555-2671 " ', '(+1) 415-555-2671'],
  ['=""', ''],
  ['="a""b@c.example"', '="a""b@c.example"'],
  ['="a@b.example', '="a@b.example'],
  ['=A1&"x"', '=A1&"x"'],
  [' Ann ', 'Ann'],
  ['\u200f ahmed@a.example\u200f', 'ahmed@a.example'],
  ['\u202aann@a.example\u202c\u200b', 'ann@a.example'],
  ['="\u2068192.0.2.7\u2069"', '192.0.2.7'],
  ['\u200b', ''],
  ['a\u200bb', 'a\u200bb'],
  // A joiner is a part of names.
  ['نامه\u200cای', 'نامه\u200cای'],
])('the text of the cell %j is %j', (cell, text) => {
  expect(cellText(cell)).toBe(text)
})

it('a number whose last digits a spreadsheet may have lost is read, and the result says so', () => {
  const { phone } = cellReaders('GB')
  expect(phone('447912000000')).toEqual({
    subject: '+447912000000',
    note: 'ends in zeros, as one does that a spreadsheet has rounded',
  })
  expect(phone('+447912000000')).toEqual({ subject: '+447912000000' })
  expect(phone('447912000001')).toEqual({ subject: '+447912000001' })
})

it('of several values in a cell the first is read, and the others are reported', () => {
  const { phone, email } = cellReaders('GB')
  expect(phone('020 7946 0958 ::: 020 7946 0959')).toEqual({
    subject: '+442079460958',
    note: 'holds 2 values, of which the first was checked',
  })
  expect(email('a@b.example ::: c@d.example').subject).toBe('a@b.example')
})

it.each([
  'mailto:ann@b.example',
  'MAILTO:ann@b.example?subject=Hello, you',
  'Ann Lee <ann@b.example>',
  '"Lee, Ann" <ann@b.example>',
  'Lee, Ann < mailto:ann@b.example >',
  "'ann@b.example' <Ann@b.example>",
  '<ann@b.example>',
  '"ann@b.example"',
  "'ann@b.example'",
  '\u201cann@b.example\u201d',
  'ann@b.example,',
  'ann@b.example; ',
])('the address in %j is read, and the result says so', (cell) => {
  const reading = cellReaders(undefined).email(cell.trim())
  expect(keyOf(reading)?.toLowerCase()).toBe('ann@b.example')
  expect(reading).toMatchObject({ note: 'holds more than the address that was checked' })
})

it.each([
  'ann@b.example;bob@c.example',
  'ann@b.example, Bob <bob@c.example>',
  'Ann <ann@b.example>; Bob <bob@c.example>;',
])('of the addresses in %j the first is read', (cell) => {
  expect(cellReaders(undefined).email(cell)).toEqual({
    subject: 'ann@b.example',
    note: 'holds 2 values, of which the first was checked',
  })
})

it.each([
  'ann@b.example.',
  'ann@b.example (work)',
  'x,y@z.example',
  '"a;b@c.example"@d.example',
  '"x@y.example <ann"@b.example',
  'bob@c.example <ann@b.example>',
  'Ann <ann@localhost>',
  'Ann <ann@[192.0.2.1]>',
  'Ann <ann@b.example> work',
  'ann@b.example; by post',
  "o'neil@b.example",
  'ann@firma.\u0440\u0444',
])('%j is checked as it stands', (cell) => {
  const reading = cellReaders(undefined).email(cell)
  expect([reading.subject, 'note' in reading]).toEqual([cell, false])
})

it('a long cell of signs is read in little time', () => {
  const { email } = cellReaders(undefined)
  const startedMs = performance.now()
  for (const part of ['<', '< ', '>', '"', ';', 'a@', 'a.', 'mailto:', ' ']) {
    for (const end of ['>', ';', '@', 'x']) email(part.repeat(900 / part.length) + end)
  }
  expect(performance.now() - startedMs).toBeLessThan(1_000)
})

it(
  'no cell makes a reader throw, and reading its result again gives the same',
  { timeout: 30_000 },
  () => {
    const readers = cellReaders('DE')
    const part = fc.constantFrom(
      '+',
      '0',
      '1',
      '49',
      'a',
      '.',
      '@',
      ':',
      '/',
      '[',
      '%',
      ' ',
      'é',
      'xn--',
      '\0',
      '::: ',
      '(',
      '<',
      '>',
      ';',
      'a@b.cc',
      '"',
      'mailto:',
    )
    const text = fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: part, maxLength: 30 }))
    fc.assert(
      fc.property(text, fc.constantFrom(...CHECKS), (cell, check) => {
        const { subject } = readers[check](cell.trim() || 'x')
        expect(subject === undefined ? subject : readers[check](subject).subject).toBe(subject)
      }),
      { numRuns: 1_500 },
    )
  },
)

function keyOf(reading: Reading): string | undefined {
  return reading.subject === undefined ? undefined : (reading.key ?? reading.subject)
}
