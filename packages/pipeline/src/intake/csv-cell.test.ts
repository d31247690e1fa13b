import fc from 'fast-check'
import Papa from 'papaparse'
import { describe, expect, it } from 'vitest'
import { csvCell, unguarded } from './csv-cell.ts'

const odd = fc.string({
  unit: fc.constantFrom(
    '=',
    '+',
    '-',
    '@',
    "'",
    '"',
    ',',
    ';',
    '\t',
    '\r',
    '\n',
    ' ',
    '\0',
    '＝',
    '1',
    'a',
    'é',
    '\u200b',
  ),
  maxLength: 8,
})
const anyText = fc.oneof(odd, fc.string({ unit: 'binary' }))

/** What a program reads from a written line. */
function readBack(cells: readonly string[]): unknown {
  const text = `${cells.join(',')}\r\n`
  return Papa.parse<string[]>(text, { delimiter: ',', newline: '\r\n' }).data[0]
}

describe('csvCell', { timeout: 30_000 }, () => {
  it('raw gives every cell back as it was', () => {
    fc.assert(
      fc.property(fc.array(anyText, { minLength: 2, maxLength: 4 }), (cells) => {
        expect(readBack(cells.map((cell) => csvCell(cell, true)))).toEqual(cells)
      }),
      { numRuns: 2_000 },
    )
  })

  it('guarded cells are given back by taking the guard off', () => {
    fc.assert(
      fc.property(fc.array(anyText, { minLength: 2, maxLength: 4 }), (cells) => {
        const read = readBack(cells.map((cell) => csvCell(cell, false)))
        expect((read as string[]).map(unguarded)).toEqual(cells)
      }),
      { numRuns: 2_000 },
    )
  })

  it('no guarded cell begins as a formula, but for numbers', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const [cell = ''] = readBack([csvCell(text, false), 'x']) as string[]
        const runs = /^[\s\p{Cc}\p{Cf}]*[=+\-@＝＋－＠]|^[\t\r\n\0]/u.test(cell)
        expect(runs && !/^[+-]?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(cell)).toBe(false)
      }),
      { numRuns: 4_000 },
    )
  })

  it.each([
    ['=1+1', "'=1+1"],
    ['+442079460958', '+442079460958'],
    ['+44 20 7946', "'+44 20 7946"],
    ['-12.5', '-12.5'],
    ['-2+3', "'-2+3"],
    ['@SUM(A1)', "'@SUM(A1)"],
    [' =1', "' =1"],
    ['\t=1', '"\'\t=1"'],
    ['＝1', "'＝1"],
    ["'=1", "''=1"],
    ["o'neil", "o'neil"],
    ['a;=1', '"a;=1"'],
    ['say "hi"', '"say ""hi"""'],
    ['ann@firm.example', 'ann@firm.example'],
    ['=ann@firm.example', "'=ann@firm.example"],
    ['', ''],
  ])('%j is written %j', (text, cell) => {
    expect(csvCell(text, false)).toBe(cell)
  })
})
