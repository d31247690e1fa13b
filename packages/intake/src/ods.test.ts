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

test('what is drawn over an .ods sheet, and its comments, are no text of the cells below', async () => {
  const rows = [
    text('Email') + text('Note'),
    text('ann@a.example', IMAGE) + text('x', TEXT_BOX + SHAPE),
    text('bo@a.example', `<draw:g>${SHAPE}${IMAGE}</draw:g>`) +
      `<table:table-cell>${SHAPE}${IMAGE}</table:table-cell>`,
    `<table:table-cell office:value-type="string">${COMMENT}<text:p>cy@a.example</text:p></table:table-cell>`,
    `<table:table-cell>${TEXT_BOX}</table:table-cell>`,
  ].map((cells) => `<table:table-row>${cells}</table:table-row>`)
  const bytes = await zipOf({
    mimetype: Buffer.from('application/vnd.oasis.opendocument.spreadsheet'),
    'content.xml': `<office:document-content><office:body><office:spreadsheet><table:table table:name="S">${rows.join('')}</table:table></office:spreadsheet></office:body></office:document-content>`,
  })
  const { rows: read } = await readBytes(bytes, { fileName: 'people.ods' })
  expect(read.map(({ cells }) => cells)).toEqual([
    ['ann@a.example', 'x'],
    ['bo@a.example'],
    ['cy@a.example'],
  ])
})
