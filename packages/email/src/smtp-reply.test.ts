import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { LINE_MAX_BYTES, createReplyReader } from './smtp-reply.ts'

const read = (...chunks: string[]) => {
  const reader = createReplyReader()
  const replies = []
  let fault = null
  for (const chunk of chunks) {
    const out = reader.push(Buffer.from(chunk))
    replies.push(...out.replies)
    fault = out.fault
  }
  return { replies, fault }
}

describe('reply reader', () => {
  test('reads code, enhanced code and text of one line', () => {
    expect(read('550 5.1.10 no such user\r\n').replies).toEqual([
      { code: 550, enhanced: '5.1.10', text: 'no such user', lines: ['5.1.10 no such user'] },
    ])
  })

  test('joins the lines of one reply and drops their enhanced codes', () => {
    const { replies } = read('550-5.1.1 first\r\n550-5.1.1 second\r\n550 5.1.1 third\r\n')
    expect(replies).toMatchObject([{ code: 550, enhanced: '5.1.1', text: 'first second third' }])
  })

  test('accepts a bare LF, a bare code and a code with an empty text', () => {
    expect(read('250 ok\n250\r\n250 \r\n').replies.map((reply) => reply.code)).toEqual([
      250, 250, 250,
    ])
  })

  test('an enhanced code of another class is text', () => {
    expect(read('250 5.1.1 odd\r\n').replies[0]).toMatchObject({
      enhanced: null,
      text: '5.1.1 odd',
    })
  })

  test.each([
    'hello\r\n',
    '25\r\n',
    '150 x\r\n',
    '650 x\r\n',
    '250_x\r\n',
    '250-a\r\n251 b\r\n',
    '\0\0\0\r\n',
    '\r\n',
  ])('%j is malformed', (text) => {
    expect(read(text)).toEqual({ replies: [], fault: 'malformed' })
  })

  test('an endless line and an endless reply end as too long', () => {
    expect(read('250 '.padEnd(LINE_MAX_BYTES + 10, 'x')).fault).toBe('too_long')
    expect(read('250-x\r\n'.repeat(300)).fault).toBe('too_long')
    expect(read(`250-${'x'.repeat(2000)}\r\n`.repeat(40)).fault).toBe('too_long')
  })

  test('how bytes are cut into chunks makes no difference', () => {
    const text =
      '220 mx.test\r\n250-mx.test\r\n250-PIPELINING\n250 SIZE\r\n550 5.1.1 Benutzer unbekannt ü\r\n'
    const whole = read(text).replies
    fc.assert(
      fc.property(fc.array(fc.nat(Buffer.byteLength(text)), { maxLength: 8 }), (cuts) => {
        const bytes = Buffer.from(text)
        const reader = createReplyReader()
        const edges = [0, ...cuts.toSorted((a, b) => a - b), bytes.length]
        const replies = edges
          .slice(1)
          .flatMap((end, at) => [...reader.push(bytes.subarray(edges[at], end)).replies])
        expect(replies).toEqual(whole)
      }),
    )
  })
})
