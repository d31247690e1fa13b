import { describe, expect, it, test } from 'vitest'
import { readBytes } from './batch-file-fixture.ts'
import { digitsText, numberStyle, plainNumber, serialText } from './number-format.ts'
import { rowOf, xlsxOf, type WorkbookParts } from './workbook-fixture.ts'

describe('a number is shown with all its digits and no exponent', () => {
  it.each([
    ['4.47912123456E11', '447912123456'],
    ['447911123456', '447911123456'],
    ['0.1', '0.1'],
    ['0.30000000000000004', '0.3'],
    ['-12.50', '-12.5'],
    ['1E-7', '0.0000001'],
    ['123456789012345680', '123456789012346000'],
    ['1.0E21', '1000000000000000000000'],
    ['1e300', '1e+300'],
    ['-0.5', '-0.5'],
  ])('%s', (value, text) => {
    expect(plainNumber(Number(value))).toBe(text)
  })
})

describe('a format of digits shows its zeros and signs, and other formats the number', () => {
  it.each([
    ['00000000000', '7911123456', '07911123456'],
    ['0000-000-0000', '4155550100', '0415-555-0100'],
    ['[<=9999999]###-####;(###) ###-####', '5550100', '555-0100'],
    ['[<=9999999]###-####;(###) ###-####', '4155550100', '(415) 555-0100'],
    ['[<=9999999]###\\-####;\\(###\\)\\ ###\\-####', '4155550100', '(415) 555-0100'],
    ['[>9999999]0000-000-0000;000-0000', '5550100', '555-0100'],
    ['[<1000]000;#,##0', '4155550100', '4155550100'],
    ['(000) 000-0000', '4155550100', '(415) 555-0100'],
    ['00000', '123', '00123'],
    ['+00 000 000000', '447911123', '+00 447 911123'],
  ])('%s of %s', (code, digits, text) => {
    const style = numberStyle(170, code)
    const shown = style.kind === 'digits' ? digitsText(Number(digits), style) : digits
    expect(shown).toBe(text)
  })

  it.each(['0', '0.00', '#,##0', '0%', '0.00E+00', 'General', '"€" 0.00', '@', '# ?/?', '"+"0'])(
    '%s',
    (code) => {
      expect(numberStyle(170, code)).toEqual({ kind: 'number' })
    },
  )
})

describe('dates are recognized by their format and calendar', () => {
  it.each([
    ['yyyy-mm-dd', 45_000, false, '2023-03-15'],
    ['d. mmmm yyyy', 45_000.5, false, '2023-03-15 12:00:00'],
    ['[$-407]d.m.yy h:mm;@', 45_000.75, false, '2023-03-15 18:00:00'],
    ['hh:mm:ss', 0.25, false, '06:00:00'],
    ['[h]:mm', 1.25, false, '30:00:00'],
    ['dd/mm/yyyy', 1, false, '1900-01-01'],
    ['dd/mm/yyyy', 61, false, '1900-03-01'],
    ['dd/mm/yyyy', 43_538, true, '2023-03-15'],
    ['mmm-yy', 45_000, false, '2023-03-15'],
  ])('%s of %d', (code, serial, is1904, text) => {
    const { kind } = numberStyle(170, code)
    if (kind === 'number' || kind === 'digits' || kind === 'boolean')
      throw new Error(`${code} is ${kind}`)
    expect(serialText(serial, kind, is1904)?.text).toBe(text)
  })

  it('a date outside of the calendar stays a number', () => {
    expect(serialText(-1, 'date', false)).toBeUndefined()
    expect(serialText(3_000_000, 'date', false)).toBeUndefined()
  })
})

async function cellsOf(parts: WorkbookParts): Promise<(readonly string[])[]> {
  const { rows } = await readBytes(await xlsxOf(parts), { header: false, mapping: { email: 0 } })
  return rows.map(({ cells }) => cells)
}

const A = '<c r="A1" t="str"><v>a@b.example</v></c>'

describe('cells of every type', () => {
  it.each([
    ['a shared text', '<c r="B1" t="s"><v>1</v></c>', 'Zoë'],
    ['a rich text', '<c r="B1" t="s"><v>2</v></c>', 'Ann Lee'],
    ['a text without its phonetic reading', '<c r="B1" t="s"><v>3</v></c>', '東京'],
    ['a shared text that is not there', '<c r="B1" t="s"><v>99</v></c>', ''],
    ['its own text', '<c r="B1" t="inlineStr"><is><r><t>x</t></r><r><t> y</t></r></is></c>', 'x y'],
    ['a formula, by its kept value', '<c r="B1" t="str"><f>A1&amp;"x"</f><v>kept</v></c>', 'kept'],
    ['a number of a formula', '<c r="B1"><f>1+1</f><v>2</v></c>', '2'],
    ['an error', '<c r="B1" t="e"><v>#N/A</v></c>', '#N/A'],
    ['true', '<c r="B1" t="b"><v>1</v></c>', 'TRUE'],
    ['false', '<c r="B1" t="b"><v>0</v></c>', 'FALSE'],
    ['a date in ISO 8601', '<c r="B1" t="d"><v>2026-11-22T00:00:00</v></c>', '2026-11-22'],
    ['an escaped line break', '<c r="B1" t="str"><v>a_x000A_b_x005F_</v></c>', 'a\nb_'],
    ['a column far right', '<c r="AA1" t="str"><v>z</v></c>', 'z'],
    ['a cell without its place', '<c t="str"><v>next</v></c>', 'next'],
    ['entities and blanks', '<c r="B1" t="str"><v> &lt;b&gt; &#233; </v></c>', ' <b> é '],
    ['CDATA', '<c r="B1" t="str"><v><![CDATA[<x>]]></v></c>', '<x>'],
  ])('%s', async (_, cell, text) => {
    const [cells = []] = await cellsOf({
      rows: `<row r="1">${A}${cell}</row>`,
      strings:
        '<si><t>no</t></si><si><t>Zoë</t></si><si><r><t>Ann </t></r><r><rPr><b/></rPr><t>Lee</t></r></si>' +
        '<si><t>東京</t><rPh sb="0" eb="2"><t>トウキョウ</t></rPh></si>',
    })
    expect(cells.at(-1)).toBe(text)
    if (cells.length > 2) expect(cells).toHaveLength(27)
  })

  test('namespace prefixes and strict documents are read alike', async () => {
    const parts = await xlsxOf({
      rows: `<row r="1">${A}</row>`,
      relations: 'http://purl.oclc.org/ooxml/officeDocument/relationships',
    })
    const { rows } = await readBytes(parts, { header: false })
    expect(rows.map(({ cells }) => cells)).toEqual([['a@b.example']])
    const prefixed = await readBytes(
      await xlsxOf({
        others: {
          'xl/worksheets/sheet0.xml':
            '<x:worksheet xmlns:x="urn:x"><x:sheetData><x:row r="1"><x:c r="A1" t="str"><x:v>c@d.example</x:v></x:c></x:row></x:sheetData></x:worksheet>',
        },
      }),
      { header: false },
    )
    expect(prefixed.rows[0]?.cells).toEqual(['c@d.example'])
  })

  test('missing rows are blank, except at the end', async () => {
    const rows = `<row r="2"><c r="A2" t="str"><v>a@b.example</v></c></row><row r="4"><c r="A4" t="str"><v>c@d.example</v></c></row><row r="5"/><row r="900000"><c r="B900000" s="0"/></row>`
    expect(await cellsOf({ rows })).toEqual([[], ['a@b.example'], [], ['c@d.example']])
  })

  test('a column has the type that all its cells have', async () => {
    const { summary } = await readBytes(
      await xlsxOf({
        rows:
          rowOf('email', 'count', 'when', 'ok', 'mixed', 'id', 'none') +
          '<row r="2"><c r="A2" t="str"><v>a@b.example</v></c><c r="B2"><v>2</v></c><c r="C2" s="1"><v>45000</v></c><c r="D2" t="b"><v>1</v></c><c r="E2"><v>1</v></c><c r="F2" s="2"><v>7</v></c></row>' +
          '<row r="3"><c r="A3" t="str"><v>c@d.example</v></c><c r="C3" s="1"><v>45000.5</v></c><c r="E3" t="str"><v>x</v></c></row>',
        styles: [0, 14, 165],
        numberFormats: '<numFmt numFmtId="165" formatCode="000"/>',
      }),
    )
    expect(summary.columnKinds).toEqual([
      'text',
      'number',
      'datetime',
      'boolean',
      'mixed',
      'text',
      'empty',
    ])
  })

  test('a workbook with the 1904 date system is recognized', async () => {
    const rows = `<row r="1">${A}<c r="B1" s="1"><v>43538</v></c></row>`
    expect(await cellsOf({ rows, styles: [0, 14], workbookPr: 'date1904="1"' })).toEqual([
      ['a@b.example', '2023-03-15'],
    ])
  })
})
