import { expect, test } from 'vitest'
import { normalForm } from './normalize.ts'
import { parseMailbox } from './syntax.ts'

test.each([
  ['A.d.a+news@GoogleMail.com', 'ada@gmail.com'],
  ['ada+news@outlook.com', 'ada@outlook.com'],
  ['ada-shop@yahoo.com', 'ada@yahoo.com'],
  ['+tag@gmail.com', '+tag@gmail.com'],
  ['Ada+news@Company.example', 'Ada+news@company.example'],
  ['"a.b"@gmail.com', '"a.b"@gmail.com'],
  ['a.+news@gmail.com', 'a@gmail.com'],
  // Without the tag it would be no address.
  ['Ada.-shop@yahoo.com', 'ada.-shop@yahoo.com'],
  ['ada.+news@outlook.com', 'ada.+news@outlook.com'],
])('%s counts as %s', (text, normal) => {
  const mailbox = parseMailbox(text)
  expect(mailbox.ok && normalForm(mailbox)).toBe(normal)
  const again = parseMailbox(normal)
  expect(again.ok && normalForm(again)).toBe(normal)
})
