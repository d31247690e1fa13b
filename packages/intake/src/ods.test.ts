import { expect, test } from 'vitest'
import { readBytes } from './batch-file-fixture.ts'
import { zipOf } from './workbook-fixture.ts'

const text = (content: string, drawn = ''): string =>
  `<table:table-cell office:value-type="string" calcext:value-type="string"><text:p>${content}</text:p>${drawn}</table:table-cell>`

// What is drawn at a cell, as LibreOffice 7 writes it.
const IMAGE =
  '<draw:frame draw:z-index="0" draw:name="P" svg:width="0.8in" svg:height="0.4in"><draw:image xlink:href="Pictures/1.png" draw:mime-type="image/png"><text:p/></draw:image></draw:frame>'
const TEXT_BOX =
  '<draw:frame draw:z-index="1" svg:width="1.2in" svg:height="0.4in"><draw:text-box><text:p>do not send</text:p></draw:text-box></draw:frame>'
const SHAPE =
  '<draw:custom-shape draw:z-index="2" svg:width="2in" svg:height="0.2in"><text:p>draft</text:p><draw:enhanced-geometry draw:type="rectangle"/></draw:custom-shape>'
const COMMENT =
  '<office:annotation><dc:creator>Bo</dc:creator><text:p>old</text:p></office:annotation>'

const rowOf = (...cells: readonly string[]): string =>
  `<table:table-row>${cells.join('')}</table:table-row>`

/** An .ods workbook of these styles and sheets. */
async function workbookOf(styles: string, sheets: string): Promise<Uint8Array> {
  return await zipOf({
    mimetype: Buffer.from('application/vnd.oasis.opendocument.spreadsheet'),
    'content.xml': `<office:document-content><office:automatic-styles>${styles}</office:automatic-styles><office:body><office:spreadsheet>${sheets}</office:spreadsheet></office:body></office:document-content>`,
  })
}

test('a number of an .ods sheet that shows its thousands by points is that number', async () => {
  const number = (value: number, shown: string): string =>
    `<table:table-cell office:value-type="float" office:value="${value}"><text:p>${shown}</text:p></table:table-cell>`
  const rows = [
    rowOf(text('Email'), text('Umsatz'), text('Telefon')),
    rowOf(text('ann@a.example'), number(1234, '1.234'), number(612345678, '0612.345.678')),
    rowOf(text('bo@a.example'), number(1234567, '1.234.567'), number(5551234567, '555.123.4567')),
  ]
  const sheet = `<table:table table:name="S">${rows.join('')}</table:table>`
  const { rows: read } = await readBytes(await workbookOf('', sheet), { fileName: 'people.ods' })
  expect(read.map(({ cells }) => cells)).toEqual([
    ['ann@a.example', '1234', '0612.345.678'],
    ['bo@a.example', '1234567', '555.123.4567'],
  ])
})

test('a hidden .ods sheet is read only if no other has a column for the product', async () => {
  // As LibreOffice 7 writes them.
  const styles =
    '<style:style style:name="ta1" style:family="table" style:master-page-name="D"><style:table-properties table:display="false" style:writing-mode="lr-tb"/></style:style>' +
    '<style:style style:name="ta2" style:family="table" style:master-page-name="D"><style:table-properties table:display="true" style:writing-mode="lr-tb"/></style:style>'
  const sheet = (name: string, style: string, address: string): string =>
    `<table:table table:name="${name}" table:style-name="${style}">${rowOf(text('Email'))}${rowOf(text(address))}</table:table>`
  const old = sheet('Old', 'ta1', 'old@a.example')
  const people = sheet('People', 'ta2', 'ann@a.example')
  const both = await readBytes(await workbookOf(styles, old + people), { fileName: 'a.ods' })
  expect(both.file.layout).toMatchObject({ sheet: 'People', sheets: ['Old', 'People'] })
  expect(both.rows.map(({ cells }) => cells)).toEqual([['ann@a.example']])
  const alone = await readBytes(await workbookOf(styles, old), { fileName: 'a.ods' })
  expect(alone.file.layout).toMatchObject({ sheet: 'Old' })
})

test('what is drawn over an .ods sheet, and its comments, are no text of the cells below', async () => {
  const rows = [
    text('Email') + text('Note'),
    text('ann@a.example', IMAGE) + text('x', TEXT_BOX + SHAPE),
    text('bo@a.example', `<draw:g>${SHAPE}${IMAGE}</draw:g>`) +
      `<table:table-cell>${SHAPE}${IMAGE}</table:table-cell>`,
    `<table:table-cell office:value-type="string">${COMMENT}<text:p>cy@a.example</text:p></table:table-cell>`,
    `<table:table-cell>${TEXT_BOX}</table:table-cell>`,
  ].map((cells) => rowOf(cells))
  const sheet = `<table:table table:name="S">${rows.join('')}</table:table>`
  const bytes = await workbookOf('', sheet)
  const { rows: read } = await readBytes(bytes, { fileName: 'people.ods' })
  expect(read.map(({ cells }) => cells)).toEqual([
    ['ann@a.example', 'x'],
    ['bo@a.example'],
    ['cy@a.example'],
  ])
})
