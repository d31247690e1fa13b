import fc from 'fast-check'
import { SaxesParser } from 'saxes'
import { describe, expect, test } from 'vitest'
import { columnLetters, sheetCell, STYLE, type CellKind } from './sheet-cell.ts'

interface ReadCell {
  readonly type: string | undefined
  readonly style: number
  readonly text: string
}

/** The cell as an XML parser reads it; `_x0001_` is decoded as spreadsheets do. */
function readBack(xml: string): ReadCell | undefined {
  let cell: { type: string | undefined; style: number } | undefined
  let text = ''
  const parser = new SaxesParser()
  parser.on('error', (error) => {
    throw error
  })
  parser.on('opentag', ({ name, attributes }) => {
    const { t, s } = attributes as Record<string, string | undefined>
    if (name === 'c') cell = { type: t, style: Number(s ?? 0) }
  })
  parser.on('text', (piece) => {
    text += piece
  })
  parser.write(`<row>${xml}</row>`).close()
  const decoded = text.replace(/_x([\dA-F]{4})_/g, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  )
  return cell === undefined ? undefined : { ...cell, text: decoded }
}

const odd = fc.string({
  unit: fc.oneof(
    fc.constantFrom(
      '\0',
      '\x01',
      '\r',
      '\n',
      '\t',
      '<',
      '&',
      '>',
      '"',
      ']]>',
      '_x0041_',
      '_x',
      '_',
    ),
    fc.constantFrom('=', '\uffff', '\ufffe', '😀', 'م', ' ', '\x85'),
    fc.string({ unit: 'grapheme', maxLength: 2 }),
  ),
  maxLength: 12,
})

describe('a cell of a sheet', () => {
  test('has the same text when read back, whatever characters it has', () => {
    fc.assert(
      fc.property(odd, (text) => {
        const read = readBack(sheetCell('A1', text, 'ours'))
        expect(read?.text ?? '').toBe(text)
      }),
      { numRuns: 3_000 },
    )
  })

  test('is never a formula', () => {
    fc.assert(
      fc.property(odd, fc.constantFrom('=', '+', '-', '@'), (rest, sign) => {
        const xml = sheetCell('A1', `${sign}x${rest}`, 'mixed')
        expect(xml).not.toContain('<f')
        expect(readBack(xml)).toMatchObject({ type: 'inlineStr', style: STYLE.text })
      }),
    )
  })

  test('has no half of a surrogate pair', () => {
    expect(readBack(sheetCell('A1', 'a\ud83d', 'ours'))?.text).toBe('a\ufffd')
    expect(readBack(sheetCell('A1', '\ude00b', 'ours'))?.text).toBe('\ufffdb')
    // A control character beside one is written as without it.
    expect(readBack(sheetCell('A1', '\u0001\ude00', 'ours'))?.text).toBe('\u0001\ufffd')
    expect(readBack(sheetCell('A1', '\ud83d\u0001', 'ours'))?.text).toBe('\ufffd\u0001')
  })

  test('is cut at the length limit of a cell, and not within a character', () => {
    expect(readBack(sheetCell('A1', 'x'.repeat(40_000), 'ours'))?.text).toHaveLength(32_767)
    const cut = readBack(sheetCell('A1', `${'x'.repeat(32_766)}😀`, 'ours'))?.text
    expect(cut).toBe('x'.repeat(32_766))
  })

  test.each([
    ['0', undefined, 0],
    ['-12', undefined, 0],
    ['1.5', undefined, 0],
    ['123456789012345', undefined, STYLE.longNumber],
    ['2024-02-29', undefined, STYLE.date],
    ['2024-02-29 23:59:59', undefined, STYLE.moment],
  ])('%s is a number or date', (text, type, style) => {
    expect(readBack(sheetCell('A1', text, 'mixed'))).toMatchObject({ type, style })
    expect(readBack(sheetCell('A1', text, 'ours'))?.type).toBe('inlineStr')
  })

  test.each([
    '007',
    '1.50',
    '+441632960123',
    '1e5',
    '-0',
    '1234567890123456',
    '12345678.901',
    '2023-02-29',
    '1900-01-01',
    '2024-01-01T10:00:00',
    '2024-1-1',
    '24:00:00',
    '１２',
  ])('%s is a text, as it would be read back differently', (text) => {
    expect(readBack(sheetCell('A1', text, 'mixed'))).toMatchObject({ type: 'inlineStr', text })
  })

  test.each<[CellKind, string, string | undefined, number, string]>([
    ['text', '12345', 'inlineStr', STYLE.plain, '12345'],
    ['text', '2024-02-29', 'inlineStr', STYLE.plain, '2024-02-29'],
    ['text', 'TRUE', 'inlineStr', STYLE.plain, 'TRUE'],
    ['mixed', 'TRUE', 'inlineStr', STYLE.plain, 'TRUE'],
    ['boolean', 'TRUE', 'b', STYLE.plain, '1'],
    ['boolean', 'FALSE', 'b', STYLE.plain, '0'],
    ['number', '12345', undefined, STYLE.plain, '12345'],
    ['number', '3.14159265358979', undefined, STYLE.plain, '3.14159265358979'],
    ['number', '0.00123456789012345', undefined, STYLE.plain, '0.00123456789012345'],
    ['number', '12345678901234567890', 'inlineStr', STYLE.plain, '12345678901234567890'],
    ['date', '2024-02-29', undefined, STYLE.date, '45351'],
    ['time', '12:00:00', undefined, STYLE.time, '0.5'],
    ['time', '24:00:00', 'inlineStr', STYLE.plain, '24:00:00'],
  ])('in a column of %s has that type: %s', (kind, text, type, style, held) => {
    expect(readBack(sheetCell('A1', text, kind))).toEqual({ type, style, text: held })
  })

  test('in an added column has its own type', () => {
    expect(readBack(sheetCell('A1', true, 'ours'))).toMatchObject({ type: 'b', text: '1' })
    expect(readBack(sheetCell('A1', 37.4, 'ours'))).toMatchObject({ type: undefined, text: '37.4' })
    expect(sheetCell('A1', null, 'ours')).toBe('')
  })
})

test('has its column as letters, as in spreadsheets', () => {
  const letters = [0, 25, 26, 51, 52, 701, 702, 16_383].map(columnLetters).join(' ')
  expect(letters).toBe('A Z AA AZ BA ZZ AAA XFD')
})
