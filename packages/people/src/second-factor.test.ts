import { Secret, TOTP } from 'otpauth'
import { expect, test } from 'vitest'
import { newFactor, newRecoveryCodes, stepOf } from './second-factor.ts'

test('a code is valid in its own time step and the adjacent ones, and its step is returned', () => {
  const { secret, uri } = newFactor('ada@example.com', 'Plumbline')
  expect(uri).toContain(secret)
  const totp = new TOTP({ secret: Secret.fromBase32(secret) })
  const at = 1_800_000_000_000
  const code = totp.generate({ timestamp: at })
  const step = at / 30_000
  expect(stepOf(secret, code, at)).toBe(step)
  expect(stepOf(secret, `${code.slice(0, 3)} ${code.slice(3)}`, at)).toBe(step)
  expect(stepOf(secret, code, at + 30_000)).toBe(step)
  expect(stepOf(secret, code, at - 30_000)).toBe(step)
  expect(stepOf(secret, code, at + 90_000)).toBeUndefined()
})

test.each(['', '12345', '1234567', 'abcdef', '\u0661\u0662\u0663\u0664\u0665\u0666'])(
  'the text "%s" is not a code',
  (text) => {
    const { secret } = newFactor('ada@example.com', 'Plumbline')
    expect(stepOf(secret, text, Date.now())).toBeUndefined()
  },
)

test('there are ten different recovery codes, and only their digests are stored', () => {
  const codes = newRecoveryCodes()
  expect(new Set(codes.map(({ code }) => code)).size).toBe(10)
  for (const { code, digest } of codes) {
    expect(code).toMatch(/^(?:\w{4}-){4}\w{4}$/)
    expect(digest).toHaveLength(32)
  }
})
