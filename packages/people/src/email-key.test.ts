import { expect, test } from 'vitest'
import { emailKeyOf, mailDomainOf } from './email-key.ts'

test.each([
  ['Ada@Example.COM', 'ada@example.com'],
  ['ada+news@example.com', 'ada@example.com'],
  ['ada+a+b@example.com', 'ada@example.com'],
  ['a.d.a@example.com', 'a.d.a@example.com'],
  ['A.d.a+x@googlemail.com', 'ada@gmail.com'],
  ['A_d-a.b+x@pm.me', 'adab@proton.me'],
  ['ada.b@ProtonMail.com', 'adab@proton.me'],
  ['ada@constructor', 'ada@constructor'],
  ['+ada@example.com', '+ada@example.com'],
  ['ada@b\u00fccher.example', 'ada@xn--bcher-kva.example'],
  ['ada@example.com.', 'ada@example.com'],
])('%s is the mailbox %s', (email, key) => {
  expect(emailKeyOf(email)).toBe(key)
  expect(emailKeyOf(key)).toBe(key)
})

test('a host without an ASCII form is unchanged', () => {
  expect(mailDomainOf('a@not a host')).toBe('not a host')
})
