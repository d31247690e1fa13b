import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import iconv from 'iconv-lite'
import Papa from 'papaparse'
import { describe, expect, it } from 'vitest'
import { readBytes } from './batch-file-fixture.ts'
import { jsonCells } from './json-row.ts'
import { uploadLimits } from './limits.ts'

describe('encodings', { timeout: 30_000 }, () => {
  const text = 'email;Straße\r\nzoë@firm.example;Köln – 5 €\r\n'
  it.each([
    ['utf-8', Buffer.from(text), 'utf-8'],
    ['utf-8 with a mark', Buffer.from(`\ufeff${text}`), 'utf-8'],
    ['utf-8 with two marks', Buffer.from(`\ufeff\ufeff${text}`), 'utf-8'],
    ['utf-16le with a mark', Buffer.from(`\ufeff${text}`, 'utf16le'), 'utf-16le'],
    ['utf-16le with two marks', Buffer.from(`\ufeff\ufeff${text}`, 'utf16le'), 'utf-16le'],
    ['utf-16le without', Buffer.from(text, 'utf16le'), 'utf-16le'],
    ['utf-16be with a mark', Buffer.from(`\ufeff${text}`, 'utf16le').swap16(), 'utf-16be'],
    ['utf-16be without', Buffer.from(text, 'utf16le').swap16(), 'utf-16be'],
    ['windows-1252', iconv.encode(text, 'windows-1252'), 'windows-1252'],
    ['gzip', gzipSync(text), 'utf-8'],
  ])('%s is detected', async (_, bytes, encoding) => {
    const { file, rows } = await readBytes(bytes)
    expect(file.header).toEqual(['email', 'Straße'])
    expect(rows.map(({ cells }) => cells)).toEqual([['zoë@firm.example', 'Köln – 5 €']])
    expect([file.encoding, file.delimiter]).toEqual([encoding, ';'])
  })

  it('the encoding is detected even if the first non-ASCII character is far inside the file', async () => {
    const plain = 'ann@firm.example,Ann\n'.repeat(30_000)
    const latin = await readBytes(
      Buffer.concat([Buffer.from(plain), iconv.encode('z@b.example,Zoë\n', 'windows-1252')]),
    )
    expect(latin.rows.at(-1)?.cells).toEqual(['z@b.example', 'Zoë'])
    expect(latin.file.encoding).toBe('windows-1252')
    const utf8 = await readBytes(`${plain}z@b.example,Zoë 😀\n`)
    expect(utf8.rows.at(-1)?.cells).toEqual(['z@b.example', 'Zoë 😀'])
    expect(utf8.file.encoding).toBe('utf-8')
  })

  it('any text is decoded, wherever chunks cut its characters', async () => {
    const word = fc.string({
      unit: fc.constantFrom('a', 'é', '漢', '😀', '€'),
      minLength: 1,
      maxLength: 9,
    })
    await fc.assert(
      fc.asyncProperty(word, fc.constantFrom('utf8', 'utf16le'), async (name, encoding) => {
        const line = `${name}@b.example,${name}\n`
        const text = `\ufeff${line.repeat(Math.ceil(300_000 / line.length))}`
        const { summary } = await readBytes(Buffer.from(text, encoding as BufferEncoding))
        expect(summary.counts).toMatchObject({ billable: 1, refused: 0 })
      }),
      { numRuns: 12 },
    )
  })
})

describe('delimiters and headers', { timeout: 30_000 }, () => {
  it.each([
    ['comma', 'Email,Name\na@b.example,"Lee, Ann"\n', ',', ['Email', 'Name']],
    [
      'semicolon with decimal commas',
      'Email;Sum\na@b.example;1,5\nc@d.example;2,5\n',
      ';',
      ['Email', 'Sum'],
    ],
    ['tab', 'Email\tName\na@b.example\tAnn, Bo\n', '\t', ['Email', 'Name']],
    ['pipe', 'Email|Name\na@b.example|Ann\n', '|', ['Email', 'Name']],
    ['a separator line', 'sep=;\r\nEmail;Name\r\na@b.example;Ann\r\n', ';', ['Email', 'Name']],
    [
      'a filled separator line',
      'sep=;;\r\nEmail;Name\r\na@b.example;Ann\r\n',
      ';',
      ['Email', 'Name'],
    ],
    ['an odd separator line', 'sep=^\nEmail^Name\na@b.example^Ann\n', '^', ['Email', 'Name']],
    ['one column', 'Email\na@b.example\n', null, ['Email']],
    ['one column without a header', 'a@b.example\nc@d.example\n', null, null],
    ['no header', 'a@b.example,Ann\nc@d.example,Bo\n', ',', null],
    ['old Macintosh lines', 'Email,Name\ra@b.example,Ann\r', ',', ['Email', 'Name']],
    [
      'old Macintosh lines with a line break in a cell',
      'Email,Name\ra@b.example,"Ann\nLee"\rc@d.example,"5"" x"\r',
      ',',
      ['Email', 'Name'],
    ],
    [
      'lines of Windows with an odd quote',
      'Email,Name\r\na@b.example,5" x\r\nc@d.example,Bo\r\n',
      ',',
      ['Email', 'Name'],
    ],
    ['blank lines before the header', '\n\nEmail,Name\na@b.example,Ann\n', ',', ['Email', 'Name']],
  ])('%s', async (_, text, delimiter, header) => {
    const { file, rows, summary } = await readBytes(text)
    expect([file.delimiter, summary.delimiter]).toEqual([delimiter, delimiter])
    expect(file.header).toEqual(header)
    expect(rows[0]?.subjects.email).toBe('a@b.example')
    expect(rows[0]?.row).toBe(0)
  })

  it('the delimiter of a file whose rows differ in width is detected', async () => {
    const { rows, summary } = await readBytes('email,b\nX\nY,1,2,3\n')
    expect(rows.map(({ cells }) => cells)).toEqual([['X'], ['Y', '1', '2', '3']])
    expect(summary).toMatchObject({ delimiter: ',', columns: 4 })
  })

  it.each([
    ['file.csv', '\r\n'],
    ['file.csv', '\n'],
    ['file.txt', '\r\n'],
  ])('old Macintosh lines in a %s whose last one ends with %j', async (fileName, end) => {
    const { file, rows } = await readBytes(`Email\ra@b.example\rc@d.example${end}`, { fileName })
    expect(file.header).toEqual(['Email'])
    expect(rows.map(({ cells }) => cells)).toEqual([['a@b.example'], ['c@d.example']])
  })

  it('options of the client take precedence over detection', async () => {
    const { file, rows } = await readBytes('Email,Name\na@b.example,Ann\n', { header: false })
    expect(file.header).toBeNull()
    expect(rows.map(({ subjects }) => subjects.email)).toEqual(['Email', 'a@b.example'])
  })

  it('the record that the client takes for the header is it, and none above is a row', async () => {
    const text = 'Our list\nc@d.example,1234567\n\nEmail,Name\na@b.example,Ann\n'
    const { file, rows } = await readBytes(text, { header: 4 })
    expect(file).toMatchObject({ headerRow: 4, header: ['Email', 'Name'] })
    expect(rows.map(({ row, cells }) => [row, cells])).toEqual([[0, ['a@b.example', 'Ann']]])
  })

  it.each([
    [3, /record 3 .* is blank/],
    [6, /record 6 .* is missing/],
  ])('a header in record %s, which is none, is refused', async (header, message) => {
    const text = 'Our list\nc@d.example,1234567\n\nEmail,Name\na@b.example,Ann\n'
    await expect(readBytes(text, { header })).rejects.toThrow(message)
  })

  it('in a text of one column each line is a cell, including quotes and commas', async () => {
    const text = '"a b"@c.example\r\nx,y@z.example\n\nd@e.example'
    const { rows } = await readBytes(text, { fileName: 'file.txt' })
    expect(rows.map(({ kind, cells }) => [kind, cells[0]])).toEqual([
      ['billable', '"a b"@c.example'],
      ['billable', 'x,y@z.example'],
      ['blank', ''],
      ['billable', 'd@e.example'],
    ])
  })

  it.each(['file.csv', 'file.txt', 'file.tsv', 'file.json', null])(
    'the content decides, not the name: records called %s',
    async (fileName) => {
      const lines = ['{"email":"ann@firm.example"}', '{"email":"bo@firm.example","n":1}']
      const { file, rows } = await readBytes(`\n${lines.join('\n')}`, { fileName })
      expect(file.format).toBe('ndjson')
      expect(rows.map(({ subjects }) => subjects.email)).toEqual([
        undefined,
        'ann@firm.example',
        'bo@firm.example',
      ])
    },
  )

  it('an object in a cell makes no records', async () => {
    const { file, rows } = await readBytes(
      '{"a":1}\tann@firm.example\n{"a":2}\tbo@firm.example\n',
      {
        fileName: 'file.tsv',
      },
    )
    expect(file.format).toBe('tsv')
    expect(rows.map(({ cells }) => cells)).toEqual([
      ['{"a":1}', 'ann@firm.example'],
      ['{"a":2}', 'bo@firm.example'],
    ])
  })

  it.each([';', ','])('cells divided by %s in a file that is called .tsv', async (delimiter) => {
    const text = ['Email,Name', 'ann@firm.example,Ann', 'bo@firm.example,Bo', ''].join('\n')
    const { file, rows } = await readBytes(text.replaceAll(',', delimiter), {
      fileName: 'file.tsv',
    })
    expect(file).toMatchObject({ delimiter, header: ['Email', 'Name'] })
    expect(rows.map(({ subjects }) => subjects.email)).toEqual([
      'ann@firm.example',
      'bo@firm.example',
    ])
  })

  it('any cells are read as they were written', async () => {
    const cell = fc.string({
      unit: fc.constantFrom('a', '"', ',', '\n', '\r', ' ', 'ß', '='),
      maxLength: 5,
    })
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(cell, cell), { minLength: 1, maxLength: 20 }),
        async (cells) => {
          const written = cells.map(([a, b]) => ['x@y.example', a, b])
          const { rows } = await readBytes(Papa.unparse(written, { newline: '\r\n' }), {
            header: false,
            mapping: { email: 0 },
          })
          expect(rows.map((row) => row.cells)).toEqual(written)
        },
      ),
      { numRuns: 100 },
    )
  })
})

describe('rows', () => {
  it('duplicates are found by their normal form and refer to the first row', async () => {
    const { rows, summary } = await readBytes(
      'email\na@B.example\nb@b.example\na@b.EXAMPLE\nA@b.example\n\n a@b.example \n',
    )
    expect(rows.map(({ kind, ofRow }) => [kind, ofRow])).toEqual([
      ['billable', undefined],
      ['billable', undefined],
      ['duplicate', 0],
      ['billable', undefined],
      ['blank', undefined],
      ['duplicate', 0],
    ])
    expect(summary.counts).toEqual({
      total: 6,
      blank: 1,
      refused: 0,
      duplicate: 2,
      known: 0,
      billable: 3,
      columns: 1,
      hasRest: false,
    })
    expect([...summary.duplicated]).toEqual([1])
  })

  it('a record of several subjects is a duplicate only if all of them are equal', async () => {
    const text =
      'email,phone,ip\na@b.example,+442079460958,\na@b.example,,\na@b.example,+44 20 7946 0958,\na@b.example,,192.0.2.1\n'
    const { rows } = await readBytes(text, { product: 'contact-intel' })
    expect(rows.map(({ kind }) => kind)).toEqual(['billable', 'billable', 'duplicate', 'billable'])
  })

  it('an optional subject that cannot be read is dropped and named in the error', async () => {
    const text = 'email,phone,ip,domain\na@b.example,call me,300.1.1.1,a b\n'
    const { rows } = await readBytes(text, { product: 'fraud-signals' })
    expect(rows[0]).toMatchObject({
      kind: 'billable',
      subjects: { email: 'a@b.example', phone: undefined, ip: undefined, domain: undefined },
      error:
        'phone: is not a phone number; ip: is not an IPv4 or IPv6 address; domain: is not a domain name',
    })
  })

  it('a refused record keeps its reference', async () => {
    const wide = ',x'.repeat(201)
    const text = `ref,email,ip\nr1,,\nr2,a@b.example${wide}\nr3,a@b.example,${'x'.repeat(9_000)}\n`
    const { rows } = await readBytes(text)
    expect(rows.map(({ kind, ref }) => [kind, ref])).toEqual([
      ['refused', 'r1'],
      ['refused', 'r2'],
      ['refused', 'r3'],
    ])
  })

  it('a malformed address is a record like others', async () => {
    const { rows } = await readBytes('email\nnot an address\n')
    expect(rows[0]).toMatchObject({ kind: 'billable', subjects: { email: 'not an address' } })
  })
})

describe('JSON files', () => {
  it('keep their objects unchanged', async () => {
    const lines = [
      '{"email":"a@b.example", "n":1.0,"deep":{"x":[1,2]}}',
      '{"phone":442079460958,"email":"c@d.example","ref":7}',
      '',
      '[1]',
      'nonsense',
      '{"email":5}',
      '{"name":"x"}',
    ]
    const { rows, file, summary } = await readBytes(lines.join('\n'), {
      fileName: 'file.jsonl',
      product: 'deliverability',
      defaultCountry: 'GB',
    })
    expect(file.format).toBe('ndjson')
    expect(rows.map(({ kind, cells, error }) => [kind, cells[0], error])).toEqual([
      ['billable', lines[0], undefined],
      ['billable', lines[1], undefined],
      ['blank', undefined, undefined],
      ['refused', '"[1]"', 'the line is not a JSON object'],
      ['refused', '"nonsense"', 'the line is not a JSON object'],
      ['refused', lines[5], 'email: is not a text'],
      ['refused', lines[6], 'email: is missing'],
    ])
    expect(rows[1]).toMatchObject({ subjects: { phone: '+442079460958' }, ref: '7' })
    expect(summary.header).toEqual(['email', 'n', 'deep', 'phone', 'ref', 'name'])
    expect(jsonCells(lines[0] ?? '', summary.header ?? [])).toEqual({
      cells: ['a@b.example', '1', '{"x":[1,2]}', '', '', ''],
      rest: '',
    })
    expect(summary.hasRest).toBe(true)
    expect(jsonCells(rows[4]?.cells[0] ?? '', ['email'])).toEqual({ cells: [''], rest: 'nonsense' })
  })

  it('keep values without a column: of keys beyond the limit, and of keys that cannot name one', async () => {
    const line = '{"email":"a@b.example","n":1,"\\u0000":2,"more":[3]}'
    const { rows, summary } = await readBytes(`{"email":"c@d.example"}\n${line}`, {
      fileName: 'file.ndjson',
      limits: { ...uploadLimits(), columns: 2 },
    })
    expect(rows[1]).toMatchObject({ kind: 'refused', cells: [line] })
    expect(summary).toMatchObject({ header: ['email', 'n'], columns: 2, hasRest: true })
    expect(jsonCells(line, summary.header ?? [])).toEqual({
      cells: ['a@b.example', '1'],
      rest: '{"\\u0000":2,"more":[3]}',
    })
  })

  it('write numbers unchanged if JavaScript would round them', () => {
    const text = '{"id":12345678901234567890,"big":1e400,"near":0.12345678901234567,"deep":[1E2]}'
    expect(jsonCells(text, ['id', 'big', 'near', 'deep'])).toEqual({
      cells: ['12345678901234567890', '1e400', '0.12345678901234567', '[1E2]'],
      rest: '',
    })
  })

  it('keep the line of a value that is nested too deeply for a cell', async () => {
    const text = `{"email":"a@b.example","x":${'['.repeat(20_000)}${']'.repeat(20_000)}}`
    const { summary } = await readBytes(text, { fileName: 'file.ndjson' })
    expect(summary.hasRest).toBe(true)
    expect(jsonCells(text, ['email', 'x'])).toEqual({ cells: ['a@b.example', ''], rest: text })
  })

  it('have blank rows where all values are empty', async () => {
    const filled = ['{"email":"a@b.example"}', '{"email":null,"n":0}', '{"a":[]}']
    const blank = ['{}', '{"ip":null}', '{"email":"","ref":" "}', '{"email":"\\t","a":null}']
    for (const format of ['ndjson', 'records'] as const) {
      const { rows } = await readBytes([...filled, ...blank].join('\n'), { format })
      expect(rows.map(({ kind }) => kind)).toEqual([
        'billable',
        'refused',
        'refused',
        ...blank.map(() => 'blank'),
      ])
      expect(rows.slice(filled.length).map(({ cells }) => cells[0])).toEqual(blank)
    }
  })

  it('keep the reference of a record that is refused', async () => {
    const keys = Array.from({ length: 201 }, (_, no) => `"k${no}":0`)
    const lines = [
      '{"ref":"r1","phone":"x"}',
      '{"ref":2,"email":{}}',
      '{"ref":12345678901234567890,"phone":"x"}',
      '{"ref":{"n":1.0},"phone":"x"}',
      `{"ref":"r5","email":"a@b.example",${keys.join(',')}}`,
    ]
    for (const format of ['ndjson', 'records'] as const) {
      const { rows } = await readBytes(lines.join('\n'), { format })
      expect(rows.map(({ kind, ref }) => [kind, ref])).toEqual([
        ['refused', 'r1'],
        ['refused', '2'],
        ['refused', '12345678901234567890'],
        ['refused', '{"n":1}'],
        ['refused', 'r5'],
      ])
    }
  })

  it.each([
    ['of MongoDB', '{"_id":{"$oid":"65a0f1c2"},"email":"a@b.example"}', '{"$oid":"65a0f1c2"}'],
    ['over 2^53', '{"id":175928847299117063,"email":"a@b.example"}', '175928847299117063'],
    ['of a fraction', '{"id":1.50,"email":"a@b.example"}', '1.5'],
    ['that is missing', '{"id":null,"email":"a@b.example"}', undefined],
  ])('are checked whatever kind of value their reference is: an id %s', async (_, line, ref) => {
    const { rows } = await readBytes(line, { fileName: 'file.ndjson' })
    expect(rows).toMatchObject([{ kind: 'billable', subjects: { email: 'a@b.example' }, ref }])
  })

  it.each(['["+442079460958"]', '{"home":"+442079460958"}', 'false', '1.5'])(
    'are checked without an optional value that is no text: %s',
    async (phone) => {
      const line = `{"email":"a@b.example","phone":${phone}}`
      const { rows } = await readBytes(`${line}\n{"email":"c@d.example","phone":"+442079460959"}`, {
        fileName: 'file.ndjson',
        product: 'deliverability',
      })
      expect(rows[0]).toMatchObject({
        kind: 'billable',
        cells: [line],
        subjects: { email: 'a@b.example', phone: undefined },
        error: 'phone: is not a text',
      })
    },
  )

  it('records of the API name their fields', async () => {
    const records = '{"email":"a@b.example"}\n{"email":"c@d.example","ip":"192.0.2.1"}\n'
    const { file, rows } = await readBytes(records, {
      format: 'records',
      fileName: null,
      product: 'contact-intel',
    })
    expect(file.mapping).toMatchObject({
      email: { header: 'email', confidence: 1 },
      ip: { header: 'ip', confidence: 1 },
    })
    expect(rows[1]?.subjects.ip).toBe('192.0.2.1')
  })
})

it('an aborted read rejects with the reason of the signal', async () => {
  const controller = new AbortController()
  const { readRows } = await import('./read-rows.ts')
  const { openBatchFile } = await import('./open-batch-file.ts')
  const file = await openBatchFile({
    path: import.meta.filename,
    scratchDir: import.meta.dirname,
    fileName: 'x.txt',
    product: 'email',
    limits: uploadLimits(),
    mapping: { email: 0 },
    header: false,
  })
  controller.abort(new Error('enough'))
  const read = async (): Promise<void> => {
    for await (const _ of readRows(file, controller.signal)) expect.fail('a block')
  }
  await expect(read()).rejects.toThrow('enough')
})

describe('a word in place of a value is an empty cell', () => {
  it.each(['-', '—', 'n/a', 'N/A', '#N/A', 'None', 'NULL', 'nan', '\\N'])('%s', async (word) => {
    const { rows, summary } = await readBytes(
      `email,domain\nann@firm.example,${word}\n${word},firm.example\n`,
      { product: 'fraud-signals' },
    )
    expect(rows[0]).toMatchObject({ kind: 'billable', error: undefined })
    expect(rows[0]?.subjects.domain).toBeUndefined()
    expect(rows[0]?.cells[1]).toBe(word)
    expect(rows[1]).toMatchObject({ kind: 'refused', error: 'email: is missing' })
    expect(summary.counts).toMatchObject({ billable: 1, refused: 1 })
  })

  it('a value that begins with such a word is a value', async () => {
    const { rows } = await readBytes('email\nnone@firm.example\n-@firm.example\n')
    expect(rows.map(({ subjects }) => subjects.email)).toEqual([
      'none@firm.example',
      '-@firm.example',
    ])
  })
})

it('a cell that a program has written as a formula, so that it stays a text, is that text', async () => {
  const text = 'mail;phone;n\n="ann@b.example";="020 7946 0958";="7"\n="";="(020) 7946 0959";="8"\n'
  const { file, rows } = await readBytes(text, { product: 'contact-intel', defaultCountry: 'GB' })
  expect(file.mapping).toMatchObject({ email: { column: 0 }, phone: { column: 1 } })
  expect(rows.map(({ kind, subjects }) => [kind, subjects.email, subjects.phone])).toEqual([
    ['billable', 'ann@b.example', '+442079460958'],
    ['refused', undefined, undefined],
  ])
  expect(rows[0]?.cells).toEqual(['="ann@b.example"', '="020 7946 0958"', '="7"'])
})
