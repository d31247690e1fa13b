import { expect, test } from 'vitest'
import { readBytes } from './batch-file-fixture.ts'
import { zipOf } from './workbook-fixture.ts'

// Neither Excel nor Google Sheets runs here. These parts are written by hand with the structure
// that they write: namespaces, attributes, order of elements and targets as in files of theirs.

const XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\r\n'
const READ = {
  header: ['Email', 'Name', 'Phone', 'Born', 'Seen', 'Member', 'Code', 'Sum'],
  cells: [
    [
      'ann@a.example',
      'Zoë 東京',
      '447911123456',
      '1990-02-28',
      '2026-11-22 13:45:00',
      'TRUE',
      '00123',
      '3.5',
    ],
    ['bo@b.example', 'a\nb <c>', '4155550100', '', '', 'FALSE', '', '#DIV/0!'],
  ],
}

async function expectRead(parts: Record<string, string>): Promise<void> {
  const bytes = await zipOf(parts)
  const { file, rows } = await readBytes(bytes, {
    fileName: 'people.xlsx',
    product: 'contact-intel',
  })
  expect(file.header).toEqual(READ.header)
  expect(rows.map(({ cells }) => [...cells, '', '', '', ''].slice(0, 8))).toEqual(READ.cells)
  expect(rows[0]?.subjects).toMatchObject({ email: 'ann@a.example', phone: '+447911123456' })
}

/** Namespaces of transitional and strict documents. */
const TRANSITIONAL = {
  main: 'http://schemas.openxmlformats.org/spreadsheetml/2006/main',
  office: 'http://schemas.openxmlformats.org/officeDocument/2006/relationships',
  properties:
    'http://schemas.openxmlformats.org/officeDocument/2006/relationships/extended-properties',
}
const STRICT = {
  main: 'http://purl.oclc.org/ooxml/spreadsheetml/main',
  office: 'http://purl.oclc.org/ooxml/officeDocument/relationships',
  properties: 'http://purl.oclc.org/ooxml/officeDocument/relationships/extendedProperties',
}
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006'

interface ExcelForm {
  readonly names: typeof TRANSITIONAL
  /** Prefix of the targets of relationships: empty, or the root of the package. */
  readonly root: string
  /** The cells of a date and a moment. */
  readonly dates: string
  readonly is1904?: boolean
}

function excelParts({ names, root, dates, is1904 = false }: ExcelForm): Record<string, string> {
  const { main, office, properties } = names
  const relation = (id: string, type: string, target: string): string =>
    `<Relationship Id="${id}" Type="${type}" Target="${target}"/>`
  const extended =
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" mc:Ignorable="x14ac xr xr2 xr3" ' +
    'xmlns:x14ac="http://schemas.microsoft.com/office/spreadsheetml/2009/9/ac" ' +
    'xmlns:xr="http://schemas.microsoft.com/office/spreadsheetml/2014/revision" ' +
    'xmlns:xr2="http://schemas.microsoft.com/office/spreadsheetml/2015/revision2" ' +
    'xmlns:xr3="http://schemas.microsoft.com/office/spreadsheetml/2016/revision3"'
  return {
    '[Content_Types].xml': `${XML}<Types xmlns="${PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/></Types>`,
    '_rels/.rels': `${XML}<Relationships xmlns="${PACKAGE}/relationships">${relation('rId3', properties, `${root}docProps/app.xml`)}${relation('rId2', `${PACKAGE}/relationships/metadata/core-properties`, `${root}docProps/core.xml`)}${relation('rId1', `${office}/officeDocument`, `${root}xl/workbook.xml`)}</Relationships>`,
    'docProps/app.xml': `${XML}<Properties xmlns="http://schemas.openxmlformats.org/officeDocument/2006/extended-properties" xmlns:vt="http://schemas.openxmlformats.org/officeDocument/2006/docPropsVTypes"><Application>Microsoft Excel</Application><TitlesOfParts><vt:vector size="1" baseType="lpstr"><vt:lpstr>People</vt:lpstr></vt:vector></TitlesOfParts><AppVersion>16.0300</AppVersion></Properties>`,
    'docProps/core.xml': `${XML}<cp:coreProperties xmlns:cp="${PACKAGE}/metadata/core-properties" xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:creator>Ann</dc:creator></cp:coreProperties>`,
    'xl/workbook.xml': `${XML}<workbook xmlns="${main}" xmlns:r="${office}" xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" mc:Ignorable="x15 xr" xmlns:x15="http://schemas.microsoft.com/office/spreadsheetml/2010/11/main" xmlns:xr="http://schemas.microsoft.com/office/spreadsheetml/2014/revision"${main === STRICT.main ? ' conformance="strict"' : ''}><fileVersion appName="xl" lastEdited="7" lowestEdited="7" rupBuild="27328"/><workbookPr ${is1904 ? 'date1904="1" ' : ''}defaultThemeVersion="202300"/><mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"><mc:Choice Requires="x15"><x15ac:absPath url="C:\\Users\\Ann &amp; Bo\\" xmlns:x15ac="http://schemas.microsoft.com/office/spreadsheetml/2010/11/ac"/></mc:Choice></mc:AlternateContent><xr:revisionPtr revIDLastSave="0" documentId="8_{1}" xr6:coauthVersionLast="47" xmlns:xr6="http://schemas.microsoft.com/office/spreadsheetml/2016/revision6"/><bookViews><workbookView xWindow="-110" yWindow="-110" windowWidth="19420" windowHeight="11500" xr2:uid="{2}" xmlns:xr2="http://schemas.microsoft.com/office/spreadsheetml/2015/revision2"/></bookViews><sheets><sheet name="People" sheetId="1" r:id="rId1"/></sheets><definedNames><definedName name="_xlnm._FilterDatabase" localSheetId="0" hidden="1">People!$A$1:$H$3</definedName></definedNames><calcPr calcId="191029"/><extLst><ext uri="{140A7094-0E35-4892-8432-C4D2E57EDEB5}" xmlns:x15="http://schemas.microsoft.com/office/spreadsheetml/2010/11/main"><x15:workbookPr chartTrackingRefBase="1"/></ext></extLst></workbook>`,
    'xl/_rels/workbook.xml.rels': `${XML}<Relationships xmlns="${PACKAGE}/relationships">${relation('rId3', `${office}/styles`, root === '' ? 'styles.xml' : '/xl/styles.xml')}${relation('rId2', `${office}/theme`, 'theme/theme1.xml')}${relation('rId1', `${office}/worksheet`, root === '' ? 'worksheets/sheet1.xml' : '/xl/worksheets/sheet1.xml')}${relation('rId4', `${office}/sharedStrings`, root === '' ? 'sharedStrings.xml' : '/xl/sharedStrings.xml')}</Relationships>`,
    'xl/styles.xml': `${XML}<styleSheet xmlns="${main}" ${extended}><numFmts count="1"><numFmt numFmtId="164" formatCode="00000"/></numFmts><fonts count="1" x14ac:knownFonts="1"><font><sz val="11"/><color theme="1"/><name val="Aptos Narrow"/><family val="2"/><scheme val="minor"/></font></fonts><cellStyleXfs count="2"><xf numFmtId="0" fontId="0"/><xf numFmtId="14" fontId="0"/></cellStyleXfs><cellXfs count="5"><xf numFmtId="0" fontId="0" xfId="0"/><xf numFmtId="14" fontId="0" xfId="0" applyNumberFormat="1"/><xf numFmtId="22" fontId="0" xfId="0" applyNumberFormat="1"><alignment vertical="top"/></xf><xf numFmtId="164" fontId="0" xfId="0" applyNumberFormat="1"/><xf numFmtId="49" fontId="0" xfId="0" quotePrefix="1"/></cellXfs><dxfs count="1"><dxf><numFmt numFmtId="19" formatCode="m/d/yyyy"/></dxf></dxfs><extLst><ext uri="{EB79DEF2-80B8-43e5-95BD-54CBDDF9020C}" xmlns:x14="http://schemas.microsoft.com/office/spreadsheetml/2009/9/main"><x14:slicerStyles defaultSlicerStyle="SlicerStyleLight1"/></ext></extLst></styleSheet>`,
    'xl/sharedStrings.xml': `${XML}<sst xmlns="${main}" count="12" uniqueCount="12">${READ.header.map((name) => `<si><t>${name}</t></si>`).join('')}<si><t>ann@a.example</t></si><si><r><t xml:space="preserve">Zoë </t></r><r><rPr><b/><sz val="11"/><color theme="1"/><rFont val="游ゴシック"/><charset val="128"/></rPr><t>東京</t></r><rPh sb="4" eb="6"><t>トウキョウ</t></rPh><phoneticPr fontId="1"/></si><si><t>bo@b.example</t></si><si><t xml:space="preserve">a\nb &lt;c&gt;</t></si></sst>`,
    'xl/worksheets/sheet1.xml': `${XML}<worksheet xmlns="${main}" xmlns:r="${office}" ${extended} xr:uid="{00000000-0001-0000-0000-000000000000}"><sheetPr filterMode="1"/><dimension ref="A1:H3"/><sheetViews><sheetView tabSelected="1" workbookViewId="0"><pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/><selection pane="bottomLeft"/></sheetView></sheetViews><sheetFormatPr defaultRowHeight="14.5" x14ac:dyDescent="0.35"/><cols><col min="1" max="1" width="21.7265625" bestFit="1" customWidth="1"/><col min="2" max="2" width="0" hidden="1" customWidth="1"/></cols><sheetData><row r="1" spans="1:8" x14ac:dyDescent="0.35">${READ.header.map((_, at) => `<c r="${'ABCDEFGH'[at]}1" t="s"><v>${at}</v></c>`).join('')}</row><row r="2" spans="1:8" hidden="1" x14ac:dyDescent="0.35"><c r="A2" s="4" t="s"><v>8</v></c><c r="B2" t="s"><v>9</v></c><c r="C2"><v>447911123456</v></c>${dates}<c r="F2" t="b"><v>1</v></c><c r="G2" s="3"><v>123</v></c><c r="H2"><f>1+2.5</f><v>3.5</v></c></row><row r="3" spans="1:8" ht="29" x14ac:dyDescent="0.35"><c r="A3" t="s"><v>10</v></c><c r="B3" t="s"><v>11</v></c><c r="C3"><v>4.1555501E9</v></c><c r="D3" s="1"/><c r="F3" t="b"><v>0</v></c><c r="H3" t="e"><f t="shared" ref="H3" si="0">1/0</f><v>#DIV/0!</v></c></row></sheetData><autoFilter ref="A1:H3" xr:uid="{1}"/><pageMargins left="0.7" right="0.7" top="0.75" bottom="0.75" header="0.3" footer="0.3"/><mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"><mc:Choice Requires="x14"><controls/></mc:Choice><mc:Fallback/></mc:AlternateContent></worksheet>`,
  }
}

const SERIALS = '<c r="D2" s="1"><v>32932</v></c><c r="E2" s="2"><v>46348.572916666664</v></c>'

test('a workbook with the structure of Excel', async () => {
  await expectRead(excelParts({ names: TRANSITIONAL, root: '', dates: SERIALS }))
})

test('a workbook with the structure of Excel whose targets are absolute', async () => {
  await expectRead(excelParts({ names: TRANSITIONAL, root: '/', dates: SERIALS }))
})

test('a workbook with the structure of old Excel for Mac, with the 1904 date system', async () => {
  const dates = '<c r="D2" s="1"><v>31470</v></c><c r="E2" s="2"><v>44886.572916666664</v></c>'
  await expectRead(excelParts({ names: TRANSITIONAL, root: '', dates, is1904: true }))
})

test('a strict workbook with the structure of Excel, with dates of ISO 8601', async () => {
  const dates =
    '<c r="D2" s="1" t="d"><v>1990-02-28T00:00:00</v></c><c r="E2" s="2" t="d"><v>2026-11-22T13:45:00</v></c>'
  await expectRead(excelParts({ names: STRICT, root: '', dates }))
})

/**
 * Without dimension, document properties and theme; texts of formulas by `str`; a thousand rows,
 * most of them empty.
 */
function googleParts(): Record<string, string> {
  const { main, office } = TRANSITIONAL
  const relation = (id: string, type: string, target: string): string =>
    `<Relationship Id="${id}" Type="${office}/${type}" Target="${target}"/>`
  const padding = Array.from(
    { length: 997 },
    (_, at) => `<row r="${at + 4}" ht="15.75" customHeight="1"><c r="A${at + 4}" s="1"/></row>`,
  ).join('')
  return {
    'xl/worksheets/sheet1.xml': `${XML}<worksheet xmlns="${main}" xmlns:r="${office}" xmlns:mx="http://schemas.microsoft.com/office/mac/excel/2008/main" xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" xmlns:mv="urn:schemas-microsoft-com:mac:vml" xmlns:x14ac="http://schemas.microsoft.com/office/spreadsheetml/2009/9/ac"><sheetPr><outlinePr summaryBelow="0" summaryRight="0"/></sheetPr><sheetViews><sheetView workbookViewId="0"/></sheetViews><sheetFormatPr customHeight="1" defaultColWidth="12.63" defaultRowHeight="15.75"/><sheetData><row r="1">${READ.header.map((_, at) => `<c r="${'ABCDEFGH'[at]}1" s="1" t="s"><v>${at}</v></c>`).join('')}</row><row r="2"><c r="A2" s="1" t="str"><f t="shared" ref="A2:A3" si="1">LOWER(&quot;ANN@a.example&quot;)</f><v>ann@a.example</v></c><c r="B2" s="1" t="s"><v>8</v></c><c r="C2" s="1"><v>4.47911123456E11</v></c><c r="D2" s="2"><v>32932.0</v></c><c r="E2" s="3"><v>46348.572916666664</v></c><c r="F2" s="1" t="b"><v>1</v></c><c r="G2" s="4"><v>123.0</v></c><c r="H2" s="1"><f>1+2.5</f><v>3.5</v></c></row><row r="3"><c r="A3" s="1" t="str"><f t="shared" si="1"/><v>bo@b.example</v></c><c r="B3" s="1" t="s"><v>9</v></c><c r="C3" s="1"><v>4.1555501E9</v></c><c r="F3" s="1" t="b"><v>0</v></c><c r="H3" s="1" t="str"><f>1/0</f><v>#DIV/0!</v></c></row>${padding}</sheetData><drawing r:id="rId1"/></worksheet>`,
    'xl/sharedStrings.xml': `${XML}<sst xmlns="${main}" count="10" uniqueCount="10">${READ.header.map((name) => `<si><t>${name}</t></si>`).join('')}<si><r><rPr/><t>Zoë </t></r><r><rPr><rFont val="Arial"/><b/></rPr><t>東京</t></r></si><si><t>a\nb &lt;c&gt;</t></si></sst>`,
    'xl/styles.xml': `${XML}<styleSheet xmlns="${main}" xmlns:x14ac="http://schemas.microsoft.com/office/spreadsheetml/2009/9/ac"><numFmts count="3"><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd"/><numFmt numFmtId="165" formatCode="m/d/yyyy h:mm:ss"/><numFmt numFmtId="166" formatCode="00000"/></numFmts><cellStyleXfs count="1"><xf borderId="0" fillId="0" fontId="0" numFmtId="0"/></cellStyleXfs><cellXfs count="5"><xf borderId="0" fillId="0" fontId="0" numFmtId="0" xfId="0"/><xf borderId="0" fillId="0" fontId="1" numFmtId="0" xfId="0" applyFont="1"><alignment readingOrder="0"/></xf><xf numFmtId="164" xfId="0" applyNumberFormat="1"/><xf numFmtId="165" xfId="0" applyNumberFormat="1"/><xf numFmtId="166" xfId="0" applyNumberFormat="1"/></cellXfs></styleSheet>`,
    'xl/workbook.xml': `${XML}<workbook xmlns="${main}" xmlns:r="${office}"><workbookPr/><sheets><sheet state="visible" name="Sheet1" sheetId="1" r:id="rId4"/></sheets><definedNames/><calcPr/></workbook>`,
    'xl/_rels/workbook.xml.rels': `${XML}<Relationships xmlns="${PACKAGE}/relationships">${relation('rId2', 'styles', 'styles.xml')}${relation('rId3', 'sharedStrings', 'sharedStrings.xml')}${relation('rId4', 'worksheet', 'worksheets/sheet1.xml')}</Relationships>`,
    '_rels/.rels': `${XML}<Relationships xmlns="${PACKAGE}/relationships">${relation('rId1', 'officeDocument', 'xl/workbook.xml')}</Relationships>`,
    '[Content_Types].xml': `${XML}<Types xmlns="${PACKAGE}/content-types"><Default ContentType="application/xml" Extension="xml"/></Types>`,
  }
}

test('a workbook with the structure of Google Sheets, without its empty rows', async () => {
  await expectRead(googleParts())
})
