import { expect, test } from 'vitest'
import { createPasswordHasher } from './password.ts'

const passwords = createPasswordHasher()

test('a digest is Argon2id with its own salt, and matches only the right password', async () => {
  const password = 'p\u00e4ss phrase \u{1f511} with spaces'
  const [one, other] = [await passwords.hash(password), await passwords.hash(password)]
  expect(one).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[\w+/]{22}\$[\w+/]{43}$/)
  expect(one).not.toBe(other)
  expect(await passwords.matches(password, one)).toBe(true)
  expect(await passwords.matches(password.normalize('NFD'), one)).toBe(true)
  expect(await passwords.matches(`${password} `, one)).toBe(false)
  expect(await passwords.matches(password.toUpperCase(), one)).toBe(false)
})

test.each([undefined, '', 'none', '$argon2id$v=19$m=19456,t=2,p=1$short$short'])(
  'no password matches the digest %s',
  async (digest) => {
    expect(await passwords.matches('', digest)).toBe(false)
    expect(await passwords.matches('anything at all', digest)).toBe(false)
  },
)

test('a request beyond the limit is refused as unavailable, and the others are answered', async () => {
  const digest = await passwords.hash('right and true')
  const asked = await Promise.allSettled(
    Array.from({ length: 110 }, () => passwords.matches('wrong', digest)),
  )
  const refused = asked.filter(({ status }) => status === 'rejected')
  expect(refused.map((one) => (one as PromiseRejectedResult).reason)).toEqual(
    Array.from({ length: 10 }, () => expect.objectContaining({ code: 'unavailable' })),
  )
})
