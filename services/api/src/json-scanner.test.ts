import { expect, test } from 'vitest'
import { createJsonScanner, faultOfJson, isSurelyWithin } from './json-scanner.ts'

const WIDE = { depth: 100, keys: 100_000 }

const GOOD = [
  'null',
  ' true ',
  'false',
  '0',
  '-0',
  '-12.5e+10',
  '1E5',
  '0.5',
  '""',
  '"a\\u00e9\\n\\"\\\\ \\/ é 😀"',
  '"\\ud800"',
  '[]',
  '{}',
  '[ ]',
  '{ }',
  '[1,[2,{"a":[]}],null]',
  '{"a":1,"b":{"c":[true,false]},"":""}',
  '{"a":1,"a":2}',
  '\t\r\n [ 1 , 2 ] \n',
]

const BAD = [
  '',
  ' ',
  'nul',
  'nulls',
  'True',
  '01',
  '-',
  '1.',
  '.5',
  '1e',
  '1e+',
  '--1',
  '+1',
  '"',
  '"\n"',
  '"\\x"',
  '"\\u12g4"',
  '"\\u12"',
  '[',
  ']',
  '[1',
  '[1,]',
  '[,1]',
  '[1 2]',
  '[}',
  '{"a"}',
  '{"a":}',
  '{"a":1,}',
  '{,}',
  '{a:1}',
  '{"a":1]',
  '{"a" 1}',
  '{1:2}',
  '{}{}',
  '1 2',
  '[1]]',
  "{'a':1}",
  '\ufeff{}',
  'NaN',
  '[1:2]',
]

test.each([...GOOD, ...BAD])('%j is valid exactly if JSON.parse accepts it', (text) => {
  expect(faultOfJson(text, WIDE) === undefined).toBe(parses(text))
})

test.each([...GOOD, ...BAD])('%j has the same result in pieces of one character', (text) => {
  const scanner = createJsonScanner(WIDE)
  let fault
  for (const char of text) {
    fault = scanner.push(char)
    if (fault !== undefined) break
  }
  expect((fault ?? scanner.end()) === undefined).toBe(parses(text))
})

test('random changes of a valid text have the same result as with JSON.parse', () => {
  const text = '{"a":[1,-2.5e3,"x\\u0041y",null],"b":{"c":true,"d":[]},"e":"é"}'
  const letters = '{}[]",:0129.eE+-\\ntrufals é'
  let state = 1
  const random = (below: number): number => {
    state = (state * 48_271) % 2_147_483_647
    return state % below
  }
  for (let round = 0; round < 20_000; round += 1) {
    const at = random(text.length)
    const changed = text.slice(0, at) + letters[random(letters.length)] + text.slice(at + random(3))
    expect([changed, faultOfJson(changed, WIDE) === undefined]).toEqual([changed, parses(changed)])
  }
})

test('depth and keys are limited, and a text at the limit is accepted', () => {
  const bounds = { depth: 3, keys: 4 }
  expect(faultOfJson('[[[]]]', bounds)).toBeUndefined()
  expect(faultOfJson('[[[[]]]]', bounds)).toBe('too_deep')
  expect(faultOfJson('{"a":{"b":{"c":{}}}}', bounds)).toBe('too_deep')
  expect(faultOfJson('[1,2,3,4]', bounds)).toBeUndefined()
  expect(faultOfJson('[1,2,3,4,5]', bounds)).toBe('too_many_keys')
  expect(faultOfJson('{"a":1,"b":[1,2],"c":0}', bounds)).toBe('too_many_keys')
})

test('sixteen million brackets or empty objects are refused at the limit, quickly and without memory', () => {
  for (const [piece, fault] of [
    ['['.repeat(65_536), 'too_deep'],
    [`[${'{},'.repeat(20_000)}`, 'too_many_keys'],
  ] as const) {
    expect(faultOfJson(piece, { depth: 16, keys: 100 })).toBe(fault)
  }
})

test('a text with few brackets and commas is surely within the limits', () => {
  const bounds = { depth: 2, keys: 3 }
  expect(isSurelyWithin('{"a":"b"}', bounds)).toBe(true)
  expect(isSurelyWithin('[[[]]]', bounds)).toBe(false)
  expect(isSurelyWithin('[1,2,3,4]', bounds)).toBe(false)
  // Too careful with what stands in strings, which is then read in full.
  expect(isSurelyWithin('{"a":"[[["}', bounds)).toBe(false)
})

test('parts are reported with their positions, also if they arrive in two pieces', () => {
  const told: string[] = []
  let piece = ''
  const note =
    (what: string) =>
    (part: string, depth: number, at: number): number =>
      told.push(
        `${what} ${part} ${depth} ${what === 'begin' ? piece.slice(at) : piece.slice(0, at)}`,
      )
  const scanner = createJsonScanner(WIDE, { depth: 1, begin: note('begin'), end: note('end') })
  for (piece of ['{"a":12', '3,"b":[[1]]}']) expect(scanner.push(piece)).toBeUndefined()
  expect(scanner.end()).toBeUndefined()
  expect(told).toEqual([
    'begin object 0 {"a":12',
    'begin key 1 "a":12',
    'end key 1 {"a"',
    'begin scalar 1 12',
    'end scalar 1 3',
    'begin key 1 "b":[[1]]}',
    'end key 1 3,"b"',
    'begin array 1 [[1]]}',
    'end array 1 3,"b":[[1]]',
    'end object 0 3,"b":[[1]]}',
  ])
})

function parses(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
