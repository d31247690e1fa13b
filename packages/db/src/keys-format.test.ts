import fc from 'fast-check'
import { expect, test } from 'vitest'
import { BASE62 } from './ids.ts'
import { checksumOf, digestOf, newKey, parseKey } from './keys-format.ts'

test('a new key is well-formed and contains its mode and last four characters', () => {
  for (const mode of ['live', 'test'] as const) {
    const key = newKey('svc', mode)
    expect(key).toMatch(new RegExp(`^svc_${mode}_[0-9A-Za-z]{38}$`))
    expect(parseKey('svc', key)).toEqual({
      prefix: `svc_${mode}_`,
      mode,
      last4: key.slice(-4),
    })
  }
})

test('no two keys are equal', () => {
  const keys = new Set(Array.from({ length: 1_000 }, () => newKey('svc', 'live')))
  expect(keys.size).toBe(1_000)
})

test('a key of another service is refused', () => {
  expect(parseKey('acme', newKey('svc', 'live'))).toBeUndefined()
})

test('a key with one character changed is refused', () => {
  const key = newKey('svc', 'live')
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: key.length - 1 }),
      fc.constantFrom(...BASE62, '_', '-', ' '),
      (place, character) => {
        fc.pre(key[place] !== character)
        const changed = key.slice(0, place) + character + key.slice(place + 1)
        expect(parseKey('svc', changed)).toBeUndefined()
      },
    ),
  )
})

test.for(['', 'svc_live_', 'Bearer x', 'svc_prod_'.padEnd(47, 'a'), 'x'.repeat(10_000)])(
  '%j is not a key',
  (text) => {
    expect(parseKey('svc', text)).toBeUndefined()
  },
)

test('the checksum is the CRC-32 in base 62', () => {
  // CRC-32 of "123456789" is 0xCBF43926 = 3,421,780,262, its check value in the literature.
  expect(checksumOf('123456789')).toBe('3jZRME')
  expect(checksumOf('')).toBe('000000')
})

test('only the SHA-256 of a key is stored', () => {
  expect(digestOf('abc').toString('hex')).toBe(
    'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
  )
})
