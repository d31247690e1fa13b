import type { BatchRecord } from '@plumbline/contract/batch-request'
import { describe, expect, test } from 'vitest'
import { createBatchBodyReader } from './batch-body.ts'
import { readingOf, readUploadFields, type BatchOptions } from './batch-options.ts'

const bounds = { records: 3, recordChars: 100, json: { depth: 4, keys: 10 } }

/** Reads a body in one piece. */
function readBatchBody(body: unknown): { options: BatchOptions; records: BatchRecord[] } {
  const records: BatchRecord[] = []
  const reader = createBatchBodyReader(bounds, {
    records: () => {},
    record: (record) => records.push(record),
    longRecord: () => {},
  })
  reader.push(JSON.stringify(body))
  return { options: reader.end(), records }
}

describe('readBatchBody', () => {
  test('accepts records and fills in defaults', () => {
    const { options, records } = readBatchBody({
      product: 'email',
      records: [{ email: 'a@b.example', ref: '7' }, { email: null }],
    })
    expect(records).toHaveLength(2)
    expect(options).toEqual({
      product: 'email',
      name: null,
      defaultCountry: null,
      start: true,
      maxCredits: null,
      retentionDays: null,
      explain: false,
      mapping: undefined,
      header: undefined,
    })
  })

  test.each([
    [[], 'must be a JSON object'],
    [{ records: [] }, '`product` is missing'],
    [{ product: 'mail', records: [{}] }, '`product` must be one of email'],
    [{ product: 'email' }, '`records` is missing'],
    [{ product: 'email', records: [] }, 'at least one record'],
    [{ product: 'email', records: [{}, {}, {}, {}] }, 'at most 3'],
    [{ product: 'email', records: [{}, 'x'] }, 'records[1]: each record must be an object'],
    [{ product: 'email', records: [{ email: 1 }] }, 'records[0]: `email` must be text'],
    [{ product: 'email', records: [{ mail: 'x' }] }, 'records[0]: Unknown field "mail"'],
    [{ product: 'email', records: [{}], mapping: {} }, '"mapping"'],
    [{ product: 'email', records: [{}], retention_days: 400 }, 'from 0 to 365'],
    [{ product: 'email', records: [{}], default_country: 'DEU' }, '`default_country`'],
    [{ product: 'email', records: [{}], default_country: 'XX' }, '`default_country`'],
    [{ product: 'email', records: [{}], default_country: 'UK' }, '`default_country`'],
    [{ product: 'email', records: [{}], default_country: 'eu' }, '`default_country`'],
    [{ product: 'email', records: [{}], default_country: 'SU' }, '`default_country`'],
    [{ product: 'email', records: [{}], default_country: 'YU' }, '`default_country`'],
    [{ product: 'email', records: [{}], name: 'a\u0000b' }, 'without control characters'],
    [{ product: 'email', records: [{}], name: '\ud800' }, 'without control characters'],
    [{ product: 'email', records: [{}], start: 'yes' }, '`start` must be true or false'],
  ])('refuses %j', (body, part) => {
    expect(() => readBatchBody(body)).toThrow(part)
  })
})

test.each(['AQ', 'bv', 'GS', 'HM', 'PN', 'TF', 'UM', 'de'])('%s is a country', (code) => {
  const body = { product: 'email', records: [{}], default_country: code }
  expect(readBatchBody(body).options.defaultCountry).toBe(code.toUpperCase())
})

describe('readUploadFields', () => {
  function fields(values: Record<string, string>): Map<string, string> {
    return new Map(Object.entries({ product: 'email', ...values }))
  }

  test('a header is one by its number, too', () => {
    expect(readUploadFields(fields({ header: '4' })).header).toBe(4)
  })

  test('parses the text of typed fields', () => {
    expect(
      readUploadFields(
        fields({
          mapping: '{"email": "E-mail", "ref": 0}',
          header: 'false',
          start: 'false',
          max_credits: '10',
          retention_days: '0',
          default_country: 'de',
          explain: 'true',
          known: '30d',
          known_at: '2024-02-29',
          name: '',
        }),
      ),
    ).toMatchObject({
      mapping: { email: 'E-mail', ref: 0 },
      header: false,
      start: false,
      maxCredits: 10,
      retentionDays: 0,
      defaultCountry: 'DE',
      explain: true,
      known: 30,
      knownAt: '2024-02-29',
      name: null,
    })
  })

  test.each([
    [{ product: '' }, '`product` is missing'],
    [{ mapping: 'email' }, '`mapping` must be a JSON object'],
    [{ mapping: '{"mail": 1}' }, '`mapping` must be a JSON object'],
    [{ mapping: '{"email": "\\ud800"}' }, '`mapping` must be a JSON object'],
    [{ mapping: '{"email": -1}' }, '`mapping` must be a JSON object'],
    [{ mapping: '{"phone": 1}' }, 'the field "phone"; the fields of email are email, ref'],
    [{ product: 'phone', mapping: '{"phone": 1, "ip": "IP"}' }, 'the field "ip"'],
    [{ header: 'no' }, '`header` must be true, false, or the number'],
    [{ header: '0' }, '`header` must be true, false, or the number'],
    [{ header: '101' }, '`header` must be true, false, or the number'],
    [{ max_credits: '1e3' }, '`max_credits`'],
    [{ known: '30' }, '`known` must be a number of days such as 30d'],
    [{ known: '0d' }, '`known`'],
    [{ known: '366d' }, 'from 1d to 365d'],
    [{ known: '30d', known_at: '2026-02-30' }, '`known_at` must be a day that has come'],
    [{ known: '30d', known_at: '01.11.2026' }, '`known_at`'],
    [{ known: '30d', known_at: '9999-12-31' }, '`known_at` must be a day that has come'],
    [{ known_at: '2026-01-01' }, 'send `known` too'],
    [{ product: 'fraud-signals', known: '30d' }, 'not with fraud-signals'],
    [{ product: 'phone', known: '30d' }, 'not with phone'],
    [{ colour: 'red' }, '"colour"'],
    [{ ['__proto__']: 'x' }, '"__proto__"'],
  ])('refuses %j', (values, part) => {
    expect(() => readUploadFields(fields(values))).toThrow(part)
  })
})

test.each([
  ['comma', ','],
  ['semicolon', ';'],
  ['tab', '\t'],
  ['bar', '|'],
  ['\t', '\t'],
])('a delimiter is given by its name or itself: %j', (given, delimiter) => {
  const read = readUploadFields(
    new Map([
      ['product', 'email'],
      ['delimiter', given],
    ]),
  )
  expect(read.delimiter).toBe(delimiter)
})

test('what is stored of an upload says how its file is read, without options that were not sent', () => {
  const fields = {
    product: 'email',
    name: 'a list',
    start: 'false',
    header: 'false',
    mapping: '{"email":0}',
    sheet: '2',
    entry: 'a.csv',
    encoding: 'utf-8',
    delimiter: ';',
    known: '30d',
    known_at: '2026-11-01',
  }
  const all = readingOf(readUploadFields(new Map(Object.entries(fields))), undefined)
  expect(all).toStrictEqual({
    header: false,
    mapping: { email: 0 },
    sheet: '2',
    entry: 'a.csv',
    encoding: 'utf-8',
    delimiter: ';',
    known: 30,
    knownAt: '2026-11-01',
  })
  const plain = readUploadFields(new Map([['product', 'email']]))
  expect(readingOf(plain, undefined)).toStrictEqual({})
  expect(readingOf(plain, 'records')).toStrictEqual({ format: 'records' })
})
