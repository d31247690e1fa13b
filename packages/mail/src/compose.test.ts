import { expect, test } from 'vitest'
import { composeMail } from './compose.ts'

const HOSTILE =
  'Ada\r\nBcc: b@c.example\u202E <script>alert(1)</script> https://evil.example "quoted" ' +
  'x'.repeat(500)

test('text chosen by a user is shown on one line, without headers, markup or links', () => {
  const { subject, text, html } = composeMail({
    kind: 'invitation',
    to: 'a@b.example',
    accountName: HOSTILE,
    inviterName: HOSTILE,
    link: 'https://app.example.com/app/invitation#abc',
  })
  expect(subject).not.toMatch(/[\r\n\u202E]/)
  expect(subject.length).toBeLessThan(150)
  expect(html).not.toContain('<script')
  expect(html.match(/href=/g)).toHaveLength(1)
  for (const said of [text, html]) {
    expect(said).not.toContain('https://evil')
    expect(said).not.toContain('evil.example')
    expect(said).not.toContain('\u202E')
    expect(said).toContain('https://app.example.com/app/invitation#abc')
  }
})

test('text and HTML have the same content, and HTML loads no resources', () => {
  const { text, html } = composeMail({
    kind: 'credits_low',
    to: 'a@b.example',
    accountName: 'Ours & theirs',
    available: 3,
    mark: 50,
    link: 'https://app.example.com/app/credits',
  })
  expect(text).toContain('Ours & theirs has 3 credits left')
  expect(html).toContain('Ours &#38; theirs has 3 credits left')
  expect(html).not.toMatch(/src=|url\(|<link|<img/)
})
