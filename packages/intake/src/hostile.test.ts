import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { uploadLimits, type UploadLimits } from './limits.ts'
import { IntakeError, type IntakeErrorCode } from './intake-error.ts'
import { readBytes } from './batch-file-fixture.ts'
import type { BatchFileOptions } from './file-layout.ts'

type Options = Partial<Omit<BatchFileOptions, 'path'>>

const limits = (own: Partial<UploadLimits>): Options => ({
  limits: { ...uploadLimits(), ...own },
})
const rows = (count: number): string => 'ann@firm.example,Ann\n'.repeat(count)
const wide = (text: string): Buffer => Buffer.from(text, 'utf16le')

const REFUSED: [string, string | Uint8Array, IntakeErrorCode, RegExp, Options?][] = [
  ['nothing', '', 'unprocessable', /is empty/],
  ['blanks only', ' \r\n\t\n  \n', 'unprocessable', /is empty/],
  ['a byte order mark only', '\ufeff', 'unprocessable', /is empty/],
  ['an empty gzip file', gzipSync(''), 'unprocessable', /is empty/],
  ['a header only', 'Email,Name\n', 'unprocessable', /header line and no records/],
  ['a header without its line end', 'Email,Name', 'unprocessable', /header line and no records/],
  [
    'a header and blank rows',
    'Email,Name\n,\n , \n',
    'unprocessable',
    /header line and no records/,
  ],
  [
    'the start of a ZIP file',
    Buffer.from('504b0304140006000800', 'hex'),
    'unprocessable',
    /damaged or cut short.*save it again/,
  ],
  [
    'an old workbook',
    Buffer.from('d0cf11e0a1b11ae10000', 'hex'),
    'unsupported_media_type',
    /old Excel/,
  ],
  [
    'a file of Numbers, by its name',
    rows(2),
    'unsupported_media_type',
    /of Numbers; in Numbers choose/,
    { fileName: 'a.numbers' },
  ],
  ['a PDF', '%PDF-1.7\n...', 'unsupported_media_type', /PDF/],
  ['an image', Buffer.from('89504e470d0a1a0a0000', 'hex'), 'unsupported_media_type', /PNG/],
  ['gzip in gzip', gzipSync(gzipSync(rows(9))), 'unsupported_media_type', /gzip file inside/],
  [
    'a tar in gzip',
    gzipSync(Buffer.concat([Buffer.alloc(257, 'a'), Buffer.from('ustar'), Buffer.alloc(250)])),
    'unsupported_media_type',
    /tar/,
  ],
  ['a web page', '<!DOCTYPE html><html><table>', 'unsupported_media_type', /HTML/],
  ['a JSON array', '[{"email":"a@b.example"}]', 'unsupported_media_type', /JSON array.*records/],
  [
    'a JSON array that is called a text',
    '[{"email":"a@b.example"}]',
    'unsupported_media_type',
    /JSON array.*records/,
    { fileName: 'a.txt' },
  ],
  ['a damaged gzip file', gzipSync(rows(9000)).fill(7, 60), 'unprocessable', /damaged/],
  [
    'a gzip file cut short',
    gzipSync(
      Buffer.from(Array.from({ length: 9000 }, (_, at) => `u${at}@x.example`).join('\n')),
    ).subarray(0, 900),
    'unprocessable',
    /damaged or cut short/,
  ],
  [
    'a gzip bomb',
    gzipSync(Buffer.alloc(17_500_000, 'a@b.example\n'), { level: 1 }),
    'payload_too_large',
    /unpacks to more than/,
  ],
  [
    'a gzip file over its unpacked size',
    gzipSync(rows(9000)),
    'payload_too_large',
    /unpacked file is over 100000 bytes/,
    limits({ uploadBytes: 100_000 }),
  ],
  [
    'a file over its size',
    rows(9000),
    'payload_too_large',
    /is over 1000 bytes/,
    limits({ uploadBytes: 1000 }),
  ],
  ['too many rows', rows(12), 'payload_too_large', /more than 11 rows/, limits({ rows: 11 })],
  [
    'too many columns',
    `email${',x'.repeat(200)}\n${rows(1)}`,
    'unprocessable',
    /201 columns; the most is 200/,
  ],
  [
    'a long header',
    `email,${'x'.repeat(66_000)}\n${rows(1)}`,
    'unprocessable',
    /^Line 1: the header line is over 65536 bytes/,
    { header: true },
  ],
  [
    'a million columns',
    `email${',x'.repeat(1_000_000)}\n${rows(1)}`,
    'unprocessable',
    /header line is over 65536 bytes/,
    { header: true },
  ],
  [
    'a quote that never closes',
    `email,name\n${rows(3)}a@b.example,"Ann\n${rows(30_000)}`,
    'unprocessable',
    /^Line 5: a quote opens/,
  ],
  [
    'a quote that another record closes',
    `email,name\n"a@b.example,Ann\n${rows(3)}"c@d.example","Bo"\n`,
    'unprocessable',
    /^Line 2: a quote opens/,
  ],
  ['a NUL byte', `email\n${rows(2)}a\0b@c.example\n`, 'unprocessable', /^Line 4 holds a NUL byte/],
  ['a NUL byte far inside', `${rows(40_000)}\0\n`, 'unprocessable', /^Line 40001 holds a NUL/],
  ['a NUL in UTF-16', wide('\ufeffemail\na@b.example\n\0'), 'unprocessable', /^Line 3 holds a NUL/],
  [
    'half a character of UTF-16',
    Buffer.concat([wide('\ufeffemail\na@b.example\n'), Buffer.from([0x41])]),
    'unprocessable',
    /^Line 3 is not valid UTF-16LE/,
  ],
  [
    'a lone surrogate',
    wide('\ufeffemail\na@b.example\n\ud800x'),
    'unprocessable',
    /^Line 3 is not valid UTF-16LE/,
  ],
  [
    'no column for the product',
    'name,city\nAnn,Rome\nBo,Bonn\n',
    'unprocessable',
    /No column of email addresses.*"name", "city"/,
  ],
  [
    'the wrong product',
    `email,name\n${rows(3)}`,
    'unprocessable',
    /No column of IP addresses/,
    { product: 'ip' },
  ],
  [
    'a mapping to no column',
    `email\n${rows(1)}`,
    'bad_request',
    /names the column "mail".*"email"/,
    { mapping: { email: 'mail' } },
  ],
  [
    'a mapping past the columns',
    `email,n\n${rows(1)}`,
    'bad_request',
    /column 7; the file has columns 0 to 1/,
    { mapping: { email: 7 } },
  ],
  [
    'a mapping to a half column',
    `email,n\n${rows(1)}`,
    'bad_request',
    /column 0\.5/,
    { mapping: { email: 0.5 } },
  ],
  [
    'a mapping of no field',
    `email\n${rows(1)}`,
    'bad_request',
    /the field "mail"; the fields of email are email, ref/,
    { mapping: { mail: 0 } },
  ],
  [
    'a mapping of __proto__',
    `email\n${rows(1)}`,
    'bad_request',
    /the field "__proto__"/,
    { mapping: JSON.parse('{"__proto__":"email"}') as Record<string, string> },
  ],
  [
    'a mapping of a field of another product',
    `email,ip\n${rows(1)}`,
    'bad_request',
    /the field "ip"/,
    { mapping: { ip: 1 } },
  ],
  [
    'a mapping to a name that stands twice',
    `email,email\n${rows(1)}`,
    'bad_request',
    /has 2 times.*0 or 1/,
    { mapping: { email: 'email' } },
  ],
  [
    'a mapping by name without a header',
    rows(3),
    'bad_request',
    /no header line/,
    { mapping: { email: 'email' } },
  ],
  [
    'NDJSON without an object',
    '1\n2\n',
    'unprocessable',
    /No line of the file is a JSON object/,
    { fileName: 'a.ndjson' },
  ],
  [
    'NDJSON without a value',
    '{}\n{"email":null}\n',
    'unprocessable',
    /^The file has no records\.$/,
    { fileName: 'a.ndjson' },
  ],
]

describe('a hostile file is refused with its fault', { timeout: 30_000 }, () => {
  it.each(REFUSED)('%s', async (_, bytes, code, message, options) => {
    const error = await readBytes(bytes, options).then(
      () => undefined,
      (reason: unknown) => reason,
    )
    expect(error).toBeInstanceOf(IntakeError)
    if (!(error instanceof IntakeError)) return
    expect(error.message).toMatch(message)
    expect(error.code).toBe(code)
  })
})

describe('a hostile record is refused without affecting others', { timeout: 30_000 }, () => {
  it.each([
    [
      'a line without end',
      `a@b.example,${'x'.repeat(3_000_000)}`,
      'the line is over 65536 bytes',
      0,
    ],
    ['a long line', `a@b.example,${'x'.repeat(100_000)}`, 'the line is over 65536 bytes', 0],
    [
      'a long line in quotes',
      `a@b.example,"${'x,'.repeat(50_000)}"`,
      'the line is over 65536 bytes',
      0,
    ],
    [
      'a line of few letters and many bytes',
      `a@b.example${',éééé'.repeat(7_500)}`,
      'the line is over 65536 bytes',
      0,
    ],
    ['a cell over its limit', `a@b.example,${'é'.repeat(4097)}`, 'column 1: is over 8192 bytes', 2],
    [
      'a quoted cell of many lines',
      `a@b.example,"${'x\n'.repeat(200_000)}"`,
      'the line is over 65536 bytes',
      0,
    ],
    ['a million cells', `a@b.example${','.repeat(1_000_000)}`, 'the line is over 65536 bytes', 0],
    [
      'too many cells',
      `a@b.example${',x'.repeat(300)}`,
      'the record has 301 columns; the most is 200',
      201,
    ],
    ['no address', ',Ann', 'email: is missing', 2],
    [
      'an address over every limit',
      `${'a'.repeat(1001)}@b.example,Ann`,
      'email: is over 1000 characters',
      2,
    ],
  ])('%s', async (_, line, error, cells) => {
    const { rows: read } = await readBytes(`email,name\n${rows(3)}${line}\nz@b.example,Zoe\n`)
    expect(read.map(({ kind }) => kind)).toEqual([
      'billable',
      'duplicate',
      'duplicate',
      'refused',
      'billable',
    ])
    expect(read[3]?.error).toBe(error)
    expect(read[3]?.cells.length).toBe(cells)
    expect(read[4]?.cells).toEqual(['z@b.example', 'Zoe'])
  })
})

describe(
  'a line at its limit is kept whole, one that is a byte longer is dropped',
  { timeout: 30_000 },
  () => {
    const cells = `${'x'.repeat(8_000)},`.repeat(9)
    const CASES = ['a@b.example,', '"a@b.example",', 'é@b.example,'].flatMap((first) =>
      [0, 65, 131].map((linesBefore) => ({ first, linesBefore })),
    )
    it.each(CASES)('$first after $linesBefore KiB', async ({ first, linesBefore }) => {
      for (const end of ['\n', '\r\n']) {
        const start = `email,n${end}${`${'z'.repeat(1_000)}${end}`.repeat(linesBefore)}`
        for (const [bytes, kept] of [
          [65_536, true],
          [65_537, false],
        ] as const) {
          const line = first + cells.slice(0, bytes - Buffer.byteLength(first))
          const { rows: read } = await readBytes(start + line + end)
          const { cells: shown = [], error } = read.at(-1) ?? {}
          const said = error === 'the line is over 65536 bytes'
          expect([shown.length > 0, said]).toEqual([kept, !kept])
        }
      }
    })
  },
)

describe('odd headers', () => {
  it('repeated and empty names and names of the prototype stay as they are', async () => {
    const { file, rows: read } = await readBytes(
      '__proto__,email,,constructor,email\nx,a@b.example,,y,c@d.example\n',
    )
    expect(file.header).toEqual(['__proto__', 'email', '', 'constructor', 'email'])
    expect(file.mapping.email).toMatchObject({ column: 1, header: 'email' })
    // Two columns match equally: which one is uncertain.
    expect(file.mapping.email?.confidence).toBeLessThan(0.8)
    expect(read[0]?.cells).toEqual(['x', 'a@b.example', '', 'y', 'c@d.example'])
    expect(Object.getPrototypeOf({})).not.toHaveProperty('x')
  })

  it('JSON keys of the prototype are keys like others', async () => {
    const line = '{"__proto__":{"email":"evil@x.example"},"email":"a@b.example"}'
    const { rows: read, summary } = await readBytes(line, { fileName: 'a.ndjson' })
    expect(read[0]).toMatchObject({
      kind: 'billable',
      subjects: { email: 'a@b.example' },
      cells: [line],
    })
    expect(summary.header).toEqual(['__proto__', 'email'])
  })

  it('a deeply nested JSON value does not end the reading', async () => {
    const deep = `{"email":"a@b.example","x":${'['.repeat(30_000)}${']'.repeat(30_000)}}`
    const { rows: read } = await readBytes(`${deep}\n{"email":"c@d.example"}`, {
      fileName: 'a.ndjson',
    })
    expect(read.map(({ kind }) => kind)).toEqual(['billable', 'billable'])
  })
})
