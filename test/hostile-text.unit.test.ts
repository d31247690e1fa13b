import { describe, expect, test } from 'vitest'
import { pumped, pumpedLines, slowdown } from '@plumbline/testkit/hostile-text'
import { isParkingPage } from '@plumbline/domain/parked'
import { parseWhois } from '@plumbline/domain/whois-parse'
import { classifyReply } from '@plumbline/email/classify'
import { maskedText } from '@plumbline/email/reply-masks'

// Texts from outside that make regular expressions backtrack: none may take much longer than ordinary text.

const PAGE_CHARS = 65_536
const WHOIS_CHARS = 256_000

test.each([
  'dan.com/',
  'sedoparking.com/a',
  'this domain ',
  `this domain ${'a'.repeat(250)} `,
  'window.location ',
  'window.location.href =',
  'domain name is ',
  'buy this ',
  '/lander',
])('a front page of "%s" takes no longer than its length', (piece) => {
  const ordinary = pumped(
    '<p>A page of words, with a link to https://www.example.com/.</p>\n',
    PAGE_CHARS,
  )
  expect(isParkingPage(ordinary)).toBe(false)
  expect(slowdown(isParkingPage, pumped(piece, PAGE_CHARS), ordinary)).toBeLessThan(60)
})

test('a parking page is still recognized by its address', () => {
  expect(isParkingPage('<a href="https://www.bodis.com/x/en/lander">')).toBe(true)
  expect(isParkingPage(`<a href="https://www.dan.com/buy ${'a '.repeat(50)}lander">`)).toBe(false)
})

describe('a WHOIS reply', () => {
  const ordinary = pumped(
    'Domain Name: example.com\nRegistrar: Acme Ltd (R1-ACME)\n\n',
    WHOIS_CHARS,
  )

  test.each([
    '<',
    ' ',
    '  <',
    '%',
    '. ',
    '.',
    ': ',
    'a: ',
    'a  ',
    "a' ",
    'http:',
    'domain ',
    'domena ',
    'domaine ',
    'домен',
    'limit ',
    'exceeded ',
    '2020-01-',
    'error: 1 ',
    '該当',
  ])('of "%s" takes no longer than its length, however long its lines are', (piece) => {
    for (const lineLength of [60, 290, 1_000]) {
      const hostile = pumpedLines(piece, lineLength, WHOIS_CHARS)
      expect(slowdown(parseWhois, hostile, ordinary)).toBeLessThan(25)
    }
  })

  test.each([' ', '  (http:', ' R1-A', ' [tag', ' (R1-a', '\t'])(
    'whose registrars are "%s" takes no longer than its length',
    (piece) => {
      const line = `Registrar: a${pumped(piece, 950)}!\n`
      expect(slowdown(parseWhois, pumped(line, WHOIS_CHARS), ordinary)).toBeLessThan(25)
    },
  )
})

const readReply = (text: string): unknown => [
  classifyReply({ phase: 'rcpt', provider: '', code: 550, text }),
  maskedText(text, 'ada'),
]
const ordinaryReply = pumped(
  'Requested action was not taken by us just now, and here is why. ',
  65_536,
)

test.each([
  'user ',
  'account locked ',
  'mailbox temporarily ',
  'someone@host ',
  'not ',
  'does not ',
  'exist ',
  'recipient recipient_',
  'no-such-',
  'verification failed: ',
  'callout said: 550 ',
  'verify: 550-550 ',
  'dns server ',
  'sender mail from ',
  'a.b.',
  'не ',
  'utilisateur ',
  '`',
  "\\'",
  '(#5.1.1',
  'a@',
  'user@',
  'address ',
  'account ',
  'violat',
  'refuse',
  'a@:',
])('an SMTP reply of "%s" takes no longer than its length', (piece) => {
  expect(slowdown(readReply, pumped(piece, 65_536), ordinaryReply)).toBeLessThan(25)
})

test('an SMTP reply of one long number takes no longer than its length', () => {
  const number = `bl${'0'.repeat(3_000)}x`
  expect(slowdown(readReply, number, ordinaryReply)).toBeLessThan(25)
})
