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
    '\v',
    '\u2028',
    'sep=',
  ),
  maxLength: 8,
})
const anyText = fc.oneof(odd, fc.string({ unit: 'binary' }))

/** The cells that a program reads from a written line. */
function readBack(cells: readonly string[]): unknown {
  const text = `${cells.join(',')}\r\n`
  return Papa.parse<string[]>(text, { delimiter: ',', newline: '\r\n' }).data[0]
}

/** The guarded text of a cell, without the quotes of its line. */
function guardedText(text: string): string {
  return (readBack([csvCell(text, false), 'x']) as string[])[0] ?? ''
}

/** The fields of a line for a program that respects quotes. */
function whole(line: string, delimiter: string): readonly string[] {
  if (delimiter === '\r' || delimiter === '\n') {
    const { data } = Papa.parse<string[]>(line, { delimiter: '\u001f', newline: delimiter })
    return data.flat()
  }
  return Papa.parse<string[]>(line, { delimiter }).data.flat()
}

function runs(field: string): boolean {
  return /^["\s\p{Cc}\p{Cf}]*[=+\-@＝＋－＠]/u.test(field)
}

/**
 * Whether a field is a number of its own cell, possibly followed by other text if the program
 * splits elsewhere.
 */
function isNumber(field: string): boolean {
  return /^[+-]?\d+(\.\d+)?([eE][+-]?\d+)?(?:,|$)/.test(field)
}

describe('csvCell', { timeout: 30_000 }, () => {
  it('raw leaves every cell unchanged', () => {
    fc.assert(
      fc.property(fc.array(anyText, { minLength: 2, maxLength: 4 }), (cells) => {
        expect(readBack(cells.map((cell) => csvCell(cell, true)))).toEqual(cells)
      }),
      { numRuns: 2_000 },
    )
  })

  it('unguarded restores guarded cells', () => {
    fc.assert(
      fc.property(fc.array(anyText, { minLength: 2, maxLength: 4 }), (cells) => {
        const read = readBack(cells.map((cell) => csvCell(cell, false)))
        expect((read as string[]).map((cell) => unguarded(cell))).toEqual(cells)
      }),
      { numRuns: 10_000 },
    )
  })

  it('no field of a guarded line begins a formula, whatever it is split by', () => {
    fc.assert(
      fc.property(fc.array(anyText, { minLength: 1, maxLength: 4 }), (cells) => {
        const line = [...cells, 'end'].map((cell) => csvCell(cell, false)).join(',')
        for (const delimiter of [',', ';', '\t', '\r', '\n']) {
          for (const fields of [whole(line, delimiter), line.split(delimiter)]) {
            expect(fields.filter((field) => runs(field) && !isNumber(field))).toEqual([])
          }
        }
      }),
      { numRuns: 10_000 },
    )
  })

  it('a long cell with many possible formulas takes linear time', () => {
    const before = performance.now()
    for (const unit of ['\t', ';', "'", '"', ';"', '\u200b', '\r\n']) {
      expect(csvCell(unit.repeat(100_000), false)).not.toBe('')
      const text = `x${unit.repeat(100_000)}=1`
      expect(unguarded(guardedText(text))).toBe(text)
    }
    expect(performance.now() - before).toBeLessThan(20_000)
  })

  it.each([
    ['=1+1', "'=1+1"],
    ['+442079460958', '+442079460958'],
    ['+44 20 7946', "'+44 20 7946"],
    ['-12.5', '-12.5'],
    ['-2+3', "'-2+3"],
    ['@SUM(A1)', "'@SUM(A1)"],
    [' =1', "' =1"],
    ['\t=1', `"'\t'=1"`],
    ["x;=cmd|' /C calc'!A0;y", `"x;'=cmd|' /C calc'!A0;y"`],
    ['x\t=1', `"x\t'=1"`],
    ['x\r\n=1', `"x\r\n'=1"`],
    ['\tx,=1', `"'\tx,'=1"`],
    ['x,+1', `"x,'+1"`],
    ['x; \t@a', `"x;' \t'@a"`],
    ['x;"=1"', `"x;'""=1"""`],
    ['"=1', `"'""=1"`],
    ['a; -5', `"a;' -5"`],
    ['sep=|', "'sep=|"],
    ['+1;ann', `"'+1;ann"`],
    ['a;b=c', '"a;b=c"'],
    ['a, b@firm.example', '"a, b@firm.example"'],
    ['＝1', "'＝1"],
    ["'=1", "''=1"],
    ["o'neil", "o'neil"],
    ['a;=1', `"a;'=1"`],
    ['say "hi"', '"say ""hi"""'],
    ['ann@firm.example', 'ann@firm.example'],
    ['=ann@firm.example', "'=ann@firm.example"],
    ['', ''],
  ])('%j is written %j', (text, cell) => {
    expect(csvCell(text, false)).toBe(cell)
  })
})
