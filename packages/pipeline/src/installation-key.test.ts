import { expect, test } from 'vitest'
import { createInstallationKey } from './installation-key.ts'

const key = createInstallationKey('one key of an installation, or so')
const other = createInstallationKey('another key of an installation...')

test('a digest is the same for the same text, another for another text or key, and reveals neither', () => {
  expect(key.digest('ada@example.com')).toBe(key.digest('ada@example.com'))
  expect(key.digest('ada@example.com')).toMatch(/^[\w-]{43}$/)
  expect(key.digest('ada@example.com')).not.toBe(key.digest('bob@example.com'))
  expect(key.digest('ada@example.com')).not.toBe(other.digest('ada@example.com'))
})

test('an encrypted value is decrypted under its own name and key only, and never encrypted to the same text twice', () => {
  const text = key.encrypt('{"carrier":"Ünïcode"}', 'a')
  expect(key.decrypt(text, 'a')).toBe('{"carrier":"Ünïcode"}')
  expect(key.decrypt(text, 'b')).toBeUndefined()
  expect(other.decrypt(text, 'a')).toBeUndefined()
  expect(key.encrypt('{"carrier":"Ünïcode"}', 'a')).not.toBe(text)
})

test('a truncated, changed or never encrypted text is not decrypted', () => {
  const text = key.encrypt('true', 'a')
  const bytes = Buffer.from(text, 'base64url')
  bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1
  for (const bad of ['', 'true', text.slice(0, 20), text.slice(0, -2), bytes.toString('base64url')])
    expect(key.decrypt(bad, 'a')).toBeUndefined()
})

test('different keys have different fingerprints', () => {
  expect(key.fingerprint).toMatch(/^[0-9a-f]{32}$/)
  expect(key.fingerprint).toBe(
    createInstallationKey('one key of an installation, or so').fingerprint,
  )
  expect(key.fingerprint).not.toBe(other.fingerprint)
})
