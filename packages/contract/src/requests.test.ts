import fc from 'fast-check'
import { isIP } from 'node:net'
import { describe, expect, test } from 'vitest'
import { isIpLiteral } from './ip-literal.ts'
import { Problem } from './problem.ts'
import { CHECKS, PRODUCTS } from './products.ts'
import { readRequest } from './requests.ts'

function refusalOf(read: () => unknown): string {
  try {
    read()
  } catch (error) {
    if (error instanceof Problem && error.code === 'bad_request') return error.message
    throw error
  }
  throw new Error('was not refused')
}

describe('readRequest', () => {
  test('takes the fields of each product', () => {
    expect(readRequest('email', { email: 'a@b.example' })).toEqual({
      values: { email: 'a@b.example' },
      explain: false,
    })
    const all = { email: 'a@b.example', phone: '+4420', ip: '::1', domain: 'b.example' }
    expect(readRequest('fraud-signals', { ...all, explain: true })).toEqual({
      values: all,
      explain: true,
    })
    expect(readRequest('ip', { ip: '10.0.0.1' }).values).toEqual({ ip: '10.0.0.1' })
  })

  test.each([
    ['a string', 'email', '"x"', 'must be a JSON object'],
    ['a list', 'email', '[]', 'must be a JSON object'],
    ['null', 'email', 'null', 'must be a JSON object'],
    ['a missing field', 'email', '{}', '`email` is missing'],
    ['a number', 'email', '{"email":1}', '`email` must be an email address, sent as a string'],
    ['an empty text', 'email', '{"email":""}', 'it was empty'],
    ['an unknown field', 'email', '{"email":"a@b.c","emial":1}', '"emial"'],
    ['__proto__', 'email', '{"email":"a@b.c","__proto__":{}}', '"__proto__"'],
    ['a field of another product', 'email', '{"email":"a@b.c","phone":"+1"}', '"phone"'],
    ['null for an optional field', 'deliverability', '{"email":"a@b.c","phone":null}', '`phone`'],
    ['explain as text', 'email', '{"email":"a@b.c","explain":"true"}', '`explain`'],
  ] as const)('refuses %s', (_, product, body, part) => {
    expect(refusalOf(() => readRequest(product, JSON.parse(body)))).toContain(part)
  })

  test.each(['12025550100', '+', '+1 202', '+1-202', '+1234567890123456', '00441', '+12a', '+١٢'])(
    'refuses the phone %s',
    (phone) => {
      expect(refusalOf(() => readRequest('phone', { phone }))).toContain('`phone` must be')
    },
  )

  test.each([
    '1',
    '1.2.3',
    '01.2.3.4',
    '0x1.2.3.4',
    '1.2.3.4:80',
    'fe80::1%eth0',
    '[::1]',
    ':::',
    ' ::1',
  ])('refuses the ip %s', (ip) => {
    expect(refusalOf(() => readRequest('ip', { ip }))).toContain('`ip` must be')
  })

  test.each([
    'https://a.example',
    'a.example/x',
    'a.example:80',
    'a@b.example',
    'a b',
    '1.2.3.4',
    '::1',
    '[::1]',
  ])('refuses the domain %s', (domain) => {
    expect(refusalOf(() => readRequest('domain', { domain }))).toContain('`domain` must be')
  })

  test('accepts values that are well-formed but invalid', () => {
    const wrong = { email: 'no address', phone: '+0', ip: '127.0.0.1', domain: '-x..y' }
    for (const check of CHECKS) {
      const { values } = readRequest(check, { [check]: wrong[check] })
      expect(values).toEqual({ [check]: wrong[check] })
    }
  })

  test('refuses any value over 1,000 characters', () => {
    readRequest('email', { email: 'a'.repeat(1_000) })
    for (const product of PRODUCTS) {
      const body =
        product === 'ip' || product === 'phone' || product === 'domain' ? product : 'email'
      const message = refusalOf(() => readRequest(product, { [body]: 'a'.repeat(1_001) }))
      expect(message).toContain('at most 1000 characters')
    }
  })
})

describe('isIpLiteral', () => {
  const group = fc.oneof(
    fc.constantFrom(
      '',
      '0',
      '::',
      ':',
      '1.2.3.4',
      '256.1.1.1',
      '01.1.1.1',
      'ffff',
      'fffff',
      'G',
      '0001',
    ),
    fc.nat(65_535).map((number) => number.toString(16)),
  )
  const texts = fc.oneof(
    fc.array(group, { maxLength: 9 }).map((groups) => groups.join(':')),
    fc.ipV4(),
    fc.ipV6(),
    fc
      .array(fc.constantFrom('0', '9', '25', '.', ':', 'a', '::'), { maxLength: 16 })
      .map((t) => t.join('')),
  )

  test('agrees with the system on every text without a zone', () => {
    fc.assert(
      fc.property(texts, (text) => {
        expect(isIpLiteral(text)).toBe(isIP(text) > 0)
      }),
      { numRuns: 20_000 },
    )
  })
})
