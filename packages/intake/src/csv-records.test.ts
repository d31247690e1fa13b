import fc from 'fast-check'
import Papa from 'papaparse'
import { describe, expect, it } from 'vitest'
import { createCsvReader, type CsvDialect } from './csv-records.ts'
import { IntakeError } from './intake-error.ts'
import { TOO_LONG } from './limits.ts'

const COMMA: CsvDialect = { delimiter: ',', newline: '\n' }

function read(
  pieces: readonly string[],
  dialect: CsvDialect = COMMA,
  max = 1000,
): (readonly string[])[] {
  const reader = createCsvReader(dialect, max)
  return [...pieces.flatMap((piece) => reader.push(piece)), ...reader.end()]
}

function cut(text: string, places: readonly number[]): string[] {
  const at = [...places].map((place) => place % (text.length + 1)).toSorted((a, b) => a - b)
  return [...at, text.length].map((end, index) => text.slice(at[index - 1] ?? 0, end))
}

const cell = fc.string({
  unit: fc.constantFrom('a', 'b', '"', ',', ';', '\t', '\n', '\r', ' ', 'é', '\ufeff', '😀'),
  maxLength: 6,
})
const places = fc.array(fc.nat(500), { maxLength: 6 })

describe('any cells', { timeout: 30_000 }, () => {
  it.each([
    [',', '\n'],
    [';', '\r\n'],
    ['\t', '\n'],
    ['|', '\r\n'],
  ])('are read as written with %j and %j, wherever the text is cut', (delimiter, newline) => {
    const rows = fc.array(fc.array(cell, { minLength: 2, maxLength: 4 }), {
      minLength: 1,
      maxLength: 6,
    })
    fc.assert(
      fc.property(rows, places, fc.boolean(), (written, at, ended) => {
        const text = Papa.unparse(written, { delimiter, newline, quotes: !ended })
        const pieces = cut(ended ? text + newline : text, at)
        expect(read(pieces, { delimiter, newline: '\n' })).toEqual(written)
      }),
      { numRuns: 1_500 },
    )
  })

  it('are read from a file with both kinds of line breaks', () => {
    const rows = fc.array(fc.tuple(cell, cell, fc.constantFrom('\n', '\r\n')), { minLength: 1 })
    fc.assert(
      fc.property(rows, places, (written, at) => {
        const text = written
          .map(([a, b, newline]) => Papa.unparse([[a, b]], { quotes: true }) + newline)
          .join('')
        expect(read(cut(text, at))).toEqual(written.map(([a, b]) => [a, b]))
      }),
      { numRuns: 1_500 },
    )
  })
})

it('any text is read as papaparse alone reads it, or is refused', { timeout: 30_000 }, () => {
  const text = fc.string({
    unit: fc.constantFrom('a', '"', '"', ',', '\n', ' ', 'b'),
    maxLength: 40,
  })
  fc.assert(
    fc.property(text, places, (written, at) => {
      const whole = `${written}x\n`
      const plain = Papa.parse<string[]>(whole, { delimiter: ',', newline: '\n' })
      plain.data.pop()
      const rows = readOrRefuse(cut(whole, at))
      // If it is refused, papaparse reports an error too, but continues.
      expect(rows ?? plain.errors.length > 0).toEqual(rows === undefined ? true : plain.data)
    }),
    { numRuns: 6_000 },
  )
})

function readOrRefuse(pieces: readonly string[]): (readonly string[])[] | undefined {
  try {
    return read(pieces)
  } catch (error) {
    if (error instanceof IntakeError) return undefined
    throw error
  }
}

describe('records over the limit', { timeout: 30_000 }, () => {
  const rows = fc.array(
    fc.record({
      size: fc.nat(60),
      quoted: fc.boolean(),
      breaks: fc.boolean(),
      doubled: fc.boolean(),
      returned: fc.boolean(),
      letter: fc.constantFrom('x', 'é'),
    }),
    { minLength: 1, maxLength: 8 },
  )
  it('are skipped, and the next one is read', () => {
    fc.assert(
      fc.property(rows, places, (written, at) => {
        const lines = written.map(({ size, letter, quoted, breaks, doubled }) => {
          const inside =
            letter.repeat(size) + (quoted && breaks ? '\n' : '') + (quoted && doubled ? '""' : '')
          return quoted ? `k,"${inside}",z` : `k,${inside},z`
        })
        const text = lines.map((line, at) => line + (written[at]?.returned ? '\r\n' : '\n'))
        const got = read(cut(text.join(''), at), COMMA, 30)
        expect(got.length).toBe(written.length)
        const wrong = got.filter((row, place) => {
          const isLong = Buffer.byteLength(lines[place] ?? '') > 30
          if (row === TOO_LONG) return !isLong
          return (isLong && written[place]?.quoted) || row[0] !== 'k' || row[2] !== 'z'
        })
        expect(wrong).toEqual([])
      }),
      { numRuns: 1_500 },
    )
  })

  it('take no memory', () => {
    const reader = createCsvReader(COMMA, 1000)
    for (let piece = 0; piece < 2000; piece++) expect(reader.push('a,'.repeat(5000))).toEqual([])
    expect(reader.push('\nx,y\n')).toEqual([TOO_LONG, ['x', 'y']])
    for (let piece = 0; piece < 2000; piece++) reader.push(`"${'q\n'.repeat(5000)}"`)
    expect(reader.push('\nx,y\n').at(-1)).toEqual(['x', 'y'])
  })
})

describe('uncertain ends of records', () => {
  it.each([
    ['never closed', 'a,b\nc,"d\ne,f\n', 2],
    ['never closed at the very end', 'a,b\nc,"', 2],
    ['closed by a later record', 'a,b\n"c,d\n"e","f"\n', 2],
    ['after a quoted line break', '"a\nb",c\n"d,e\n', 3],
  ])('a quote %s is reported with its line', (_, text, line) => {
    for (const pieces of [[text], text.split('')]) {
      const attempt = (): unknown => read(pieces)
      expect(attempt).toThrow(IntakeError)
      expect(attempt).toThrow(`Line ${line}:`)
    }
  })

  it('a loose quote within one line is part of its cell', () => {
    expect(read(['"a "b" c",d\n5" x,"6"\n'])).toEqual([
      ['a "b" c', 'd'],
      ['5" x', '6'],
    ])
  })
})

it('lines of old Macintosh files end with a carriage return', () => {
  expect(read(['a,b\rc,', '"d\re"\rf,g'], { delimiter: ',', newline: '\r' })).toEqual([
    ['a', 'b'],
    ['c', 'd\re'],
    ['f', 'g'],
  ])
})
