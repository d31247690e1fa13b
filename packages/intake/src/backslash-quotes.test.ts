import fc from 'fast-check'
import Papa from 'papaparse'
import { describe, expect, it, test } from 'vitest'
import { hasBackslashQuotes, withStandIns } from './backslash-quotes.ts'
import { readBytes } from './batch-file-fixture.ts'
import { createCsvReader } from './csv-records.ts'

const cell = fc.string({
  unit: fc.constantFrom('a', '"', '\\', ',', '\n', ' ', 'é', '😀'),
  maxLength: 6,
})
const rows = fc.array(fc.tuple(cell, cell), { minLength: 1, maxLength: 6 })

function escapedRow(cells: readonly string[]): string {
  return cells.map((text) => `"${text.replaceAll(/["\\]/g, '\\$&')}"`).join(',')
}

test('cells with escaped quotes are read as written, wherever the text is cut', () => {
  fc.assert(
    fc.property(rows, fc.nat(200), fc.boolean(), (written, place, ended) => {
      const text = written.map(escapedRow).join('\n') + (ended ? '\n' : '')
      const at = place % (text.length + 1)
      const reader = createCsvReader({ delimiter: ',', newline: '\n', hasBackslashes: true }, 1000)
      const pieces = [text.slice(0, at), text.slice(at)]
      const read = [...pieces.flatMap((piece) => reader.push(piece)), ...reader.end()]
      expect(read).toEqual(written)
    }),
    { numRuns: 1_500 },
  )
})

test('a file that doubles its quotes is never taken for one that escapes them', () => {
  fc.assert(
    fc.property(rows, fc.boolean(), fc.nat(200), (written, quotes, place) => {
      const whole = Papa.unparse(written, { quotes, newline: '\n' })
      const cut = place < 100
      const text = cut ? whole.slice(0, place) : whole
      const dialect = { delimiter: ',', newline: '\n', cut }
      expect(hasBackslashQuotes(text, withStandIns(text), dialect)).toBe(false)
    }),
    { numRuns: 1_500 },
  )
})

describe('a file', () => {
  it.each([
    [
      'of MySQL without a header',
      '"1","Ann \\"A\\"","a@b.example","x\\\\y"\n"2","5\\"","c@d.example",\\N\n',
      [
        ['1', 'Ann "A"', 'a@b.example', 'x\\y'],
        ['2', '5"', 'c@d.example', '\\N'],
      ],
    ],
    [
      'whose delimiter is in its quotes',
      '"says \\"hi\\", ok";"a@b.example"\n"x \\"y\\", z";"c@d.example"\n',
      [
        ['says "hi", ok', 'a@b.example'],
        ['x "y", z', 'c@d.example'],
      ],
    ],
  ])('%s has the cells that were escaped', async (_, text, cells) => {
    const { file, rows: read } = await readBytes(text)
    expect(file.hasBackslashes).toBe(true)
    expect(read.map((row) => row.cells)).toEqual(cells)
    expect(read.map(({ subjects }) => subjects.email)).toEqual(['a@b.example', 'c@d.example'])
  })

  it.each([
    ['JSON in cells', 'email,data\na@b.example,"{""a"":""he said \\""hi\\""""}"\n'],
    ['a folder that ends a cell', 'email,folder\na@b.example,"C:\\"\nc@d.example,"D:\\x"\n'],
    ['a quote that closes nowhere', 'email,note\na@b.example,"5\\" x" y"\nc@d.example,"C:\\"\n'],
  ])('with %s is read with doubled quotes', async (_, text) => {
    const { file } = await readBytes(text)
    expect(file.hasBackslashes).toBe(false)
  })
})
