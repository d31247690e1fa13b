import { Problem } from '@plumbline/contract/problem'
import { expect, test } from 'vitest'
import { createBatchBodyReader } from './batch-body.ts'
import type { BatchOptions } from './batch-options.ts'

const BOUNDS = { records: 3, recordChars: 60, json: { depth: 4, keys: 10 } }

interface Read {
  readonly told: readonly unknown[]
  readonly options: BatchOptions
}

/** Reads a body in pieces of `pieceChars` characters. */
function read(text: string, pieceChars = text.length): Read {
  const told: unknown[] = []
  let long = ''
  const reader = createBatchBodyReader(BOUNDS, {
    records: (start) => told.push(['records', start]),
    record: (record) => told.push(record),
    longRecord: (piece) => {
      if (piece !== undefined) long += piece
      else told.push(long)
    },
  })
  for (let at = 0; at < text.length; at += pieceChars) reader.push(text.slice(at, at + pieceChars))
  return { options: reader.end(), told }
}

function refusal(text: string, pieceChars?: number): string {
  try {
    read(text, pieceChars)
    return 'taken'
  } catch (error) {
    return error instanceof Problem && error.code === 'bad_request' ? error.message : String(error)
  }
}

test.each([1, 2, 7, 1_000])(
  'a body in pieces of %i characters is read like a whole one',
  (chars) => {
    const text = `{ "product" : "email", "start":false ,"name":"a\\u0062c{[",
    "records": [ {"email":"a@b.example","ref":"]}\\"" } , {"email":null}, {} ], "max_credits":17 }`
    const { told, options } = read(text, chars)
    expect(told).toEqual([
      ['records', false],
      { email: 'a@b.example', ref: ']}"' },
      { email: null },
      {},
    ])
    expect(options).toMatchObject({ product: 'email', start: false, name: 'abc{[', maxCredits: 17 })
  },
)

test('fields after the records are not known when the records begin', () => {
  expect(read('{"records":[{}],"start":false,"product":"ip"}').told[0]).toEqual([
    'records',
    undefined,
  ])
})

test('only a record beyond the limit is passed on unparsed', () => {
  const long = `{"email":"${'x'.repeat(100)}","ref":[1]}`
  const text = `{"product":"email","records":[{"ref":"1"},${long},{"ref":"2"}]}`
  for (const chars of [1, 13, 60, 1_000]) {
    expect(read(text, chars).told).toEqual([
      ['records', undefined],
      { ref: '1' },
      long,
      { ref: '2' },
    ])
  }
})

test.each([
  ['{"product":"email","records":[{},{},{},{}', 'at most 3'],
  [`{"product":"email","records":[${'['.repeat(3)}`, 'nests deeper than 4'],
  [`{"product":"email","records":[{"email":[${'0,'.repeat(10)}`, 'more than 10 keys'],
  ['{"product":"email","records":{}}', 'must be a list of objects'],
  ['{"product":"email","records":[{}],"records":[{}]}', '`records` came more than once'],
  ['{"start":false,"start":true', '`start` came more than once'],
  ['{"__proto__":{}', 'Unknown field "__proto__"'],
  [`{"name":"${'x'.repeat(17_000)}`, '`name` is longer than 16384'],
  [`{"${'x'.repeat(17_000)}`, 'The name of a field is longer'],
  ['[[[[[[', 'must be a JSON object'],
  ['"', 'must be a JSON object'],
  ['{"product":"email","records":[{}]', 'not JSON'],
  ['{"product":"email","records":[{}]}}', 'not JSON'],
  ['{"product":"email","records":[{"email":1}]}', 'records[0]: `email` must be text'],
  ['', 'not JSON'],
])('refuses %j as soon as it is seen', (text, part) => {
  expect(refusal(text)).toContain(part)
  expect(refusal(text, 1)).toContain(part)
})

test('a fault within an oversized record is found', () => {
  const text = `{"product":"email","records":[{"email":"${'x'.repeat(100)}" "ref":1}]}`
  expect(refusal(text)).toContain('not JSON')
  expect(refusal(text, 10)).toContain('not JSON')
})
