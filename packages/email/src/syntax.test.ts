import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseMailbox, plainLocal } from './syntax.ts'
import { command } from './smtp-session.ts'

const long = (count: number): string => 'x'.repeat(count)

describe('parseMailbox', () => {
  test.each([
    ['ada@mail.example', 'ada', 'mail.example'],
    ['Ada.Lovelace+tag@MAIL.Example', 'Ada.Lovelace+tag', 'mail.example'],
    ["o'hara!#$%&*+-/=?^_`{|}~@mail.example", "o'hara!#$%&*+-/=?^_`{|}~", 'mail.example'],
    ['"two words"@mail.example', '"two words"', 'mail.example'],
    ['""@mail.example', '""', 'mail.example'],
    ['"a\\"b\\\\c"@mail.example', '"a\\"b\\\\c"', 'mail.example'],
    ['ada@localhost', 'ada', 'localhost'],
    ['ada@192.0.2.1', 'ada', '192.0.2.1'],
    ['ada@[192.0.2.1]', 'ada', '[192.0.2.1]'],
    ['ada@[192.000.002.001]', 'ada', '[192.000.002.001]'],
    ['ada@[IPv6:2001:db8::1]', 'ada', '[ipv6:2001:db8::1]'],
    ['ada@[IPv6:::ffff:192.0.2.1]', 'ada', '[ipv6:::ffff:192.0.2.1]'],
    ['"ada@home"@mail.example', '"ada@home"', 'mail.example'],
    ['zoë@bücher.example', 'zoë', 'xn--bcher-kva.example'],
    ['می\u200cخواهم@mail.example', 'می\u200cخواهم', 'mail.example'],
    ['"क्\u200dष"@mail.example', '"क्\u200dष"', 'mail.example'],
    ['ada@faß.example', 'ada', 'xn--fa-hia.example'],
    [`${long(64)}@mail.example`, long(64), 'mail.example'],
    [`ada@${long(63)}.example`, 'ada', `${long(63)}.example`],
  ])('takes %s', (text, local, domain) => {
    expect(parseMailbox(text)).toMatchObject({ ok: true, local, domain })
  })

  test.each([
    ['', 'empty'],
    ['ada', 'no_at_sign'],
    ['@mail.example', 'local_empty'],
    ['.ada@mail.example', 'local_dots'],
    ['ada.@mail.example', 'local_dots'],
    ['a..da@mail.example', 'local_dots'],
    ['a da@mail.example', 'local_character'],
    ['a(comment)@mail.example', 'local_character'],
    ['ada@', 'domain_empty'],
    ['ada@-mail.example', 'domain_label'],
    ['ada@mail-.example', 'domain_label'],
    ['ada@mail..example', 'domain_label'],
    ['ada@mail.example.', 'domain_label'],
    ['ada@mail_.example', 'domain_label'],
    ['ada@bob@mail.example', 'domain_label'],
    ['"ada@mail.example', 'local_quote'],
    ['"ada"x@mail.example', 'local_quote'],
    ['"ada"."x"@mail.example', 'local_quote'],
    ['"a\\\nb"@mail.example', 'local_quote'],
    ['"a\\é"@mail.example', 'local_quote'],
    ['"ada"', 'no_at_sign'],
    ['ada@[192.0.2.256]', 'domain_literal'],
    ['ada@[192.0.2.1', 'domain_literal'],
    ['ada@[IPv6:2001:db8::1%eth0]', 'domain_literal'],
    ['ada@[tag:content]', 'domain_literal'],
    [`${long(65)}@mail.example`, 'local_too_long'],
    [`${'é'.repeat(33)}@mail.example`, 'local_too_long'],
    [`ada@${long(64)}.example`, 'domain_label'],
    [`${long(64)}@${`${long(47)}.`.repeat(4)}example`, 'path_too_long'],
    ['ada\r\nRCPT TO:<x@mail.example>@mail.example', 'local_character'],
    ['"ada\n"@mail.example', 'local_character'],
    ['ada@mail.example\r\nQUIT', 'domain_label'],
    ['ada@bücher.example\n', 'domain_label'],
    ['ada@bü\r\ncher.example', 'domain_label'],
    ['ada@bü\tcher.example', 'domain_label'],
    ['ada@bü%63her.example', 'domain_label'],
    ['ada@bü％63her.example', 'domain_label'],
    ['ada@é.example/path', 'domain_label'],
    ['ada@é.example?query', 'domain_label'],
    ['ada@é.example#part', 'domain_label'],
    ['ada@é.example:25', 'domain_label'],
    ['a\u200Bda@mail.example', 'local_character'],
    ['a\u200Cda@mail.example', 'local_character'],
    ['\u200Dक@mail.example', 'local_character'],
    ['क\u200D\u200Dक@mail.example', 'local_character'],
    ['a\uD800da@mail.example', 'local_character'],
    [`${'a.'.repeat(100_000)}@mail.example`, 'path_too_long'],
  ])('refuses %j', (text, why) => {
    expect(parseMailbox(text)).toEqual({ ok: false, why })
  })

  test.each([
    ['info@mail.example', 'info'],
    ['"info"@mail.example', 'info'],
    ['"in\\fo"@mail.example', 'info'],
    ['"two words"@mail.example', '"two words"'],
    ['"ada@home"@mail.example', '"ada@home"'],
    ['"a..b"@mail.example', '"a..b"'],
    ['""@mail.example', '""'],
  ])('%s has the plain local part %s', (text, plain) => {
    const mailbox = parseMailbox(text)
    expect(mailbox.ok && plainLocal(mailbox)).toBe(plain)
  })

  test('no text of maximum length causes backtracking', () => {
    const texts = ['"'.repeat(1000), '\\"'.repeat(500), `"${'\\a'.repeat(400)}`, 'a.'.repeat(500)]
    const beganMs = performance.now()
    for (const text of texts) parseMailbox(text)
    expect(performance.now() - beganMs).toBeLessThan(2_000)
  })

  test('thousands of texts with hundreds of letters in place of a domain are parsed at once', () => {
    const letters = Array.from({ length: 990 }, (_, at) => String.fromCharCode(0x4e00 + at * 7))
    const text = `ada@${letters.join('')}`
    const beganMs = performance.now()
    // Converted, they would take minutes.
    for (let count = 0; count < 40_000; count++) parseMailbox(text)
    expect(performance.now() - beganMs).toBeLessThan(20_000)
    expect(parseMailbox(text)).toEqual({ ok: false, why: 'domain_too_long' })
  })

  test('no accepted text contains a line end', () => {
    const piece = fc.oneof(
      fc.constantFrom(
        '\r',
        '\n',
        '\r\n',
        '\0',
        '\u2028',
        '\u0085',
        '"',
        '\\',
        '@',
        '.',
        '<',
        '>',
        ' ',
        '[',
        ']',
      ),
      fc.string({ unit: 'binary', maxLength: 6 }),
      fc.constantFrom('ada', 'mail.example', 'DATA', 'RCPT TO:<a@b.example>', 'ü'),
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const text = pieces.join('')
        for (const candidate of [
          text,
          `${text}@mail.example`,
          `"${text}"@mail.example`,
          `ada@${text}`,
        ]) {
          const mailbox = parseMailbox(candidate)
          if (!mailbox.ok) continue
          const line = command('RCPT', `TO:<${mailbox.local}@${mailbox.domain}>`)
          expect(line.slice(0, -2)).not.toMatch(/\p{Cc}/u)
          expect(line.endsWith('\r\n')).toBe(true)
        }
      }),
      { numRuns: 3000 },
    )
  })

  test('a control character in an argument is never sent', () => {
    expect(() => command('RCPT', 'TO:<a@b>\r\nDATA')).toThrow('control character')
  })
})
