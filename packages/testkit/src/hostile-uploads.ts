import { gzipSync } from 'node:zlib'
import {
  form,
  FORM_END,
  multipart,
  partHead,
  upload,
  type HostileUpload,
  type RawRequest,
  type Verdict,
} from './hostile-send.ts'

const MIB = 1_048_576
const UNPROCESSABLE = 'Unprocessable Content'
const UNSUPPORTED = 'Unsupported Media Type'
const BAD = 'Bad Request'
const TOO_LARGE = 'Payload Too Large'

const GOOD = 'email\nada@example.com\n'

const refused = (error: string, says: string): Verdict => ({
  status: error === BAD ? 400 : error === TOO_LARGE ? 413 : 415,
  error,
  says,
})
const failed = (error: string, says: string): Verdict => ({ failed: error, says })
const rows = (total: number, bad = 0): Verdict => ({ rows: total, refused: bad })

/** An upload of a file for the product email, under the name `list.csv` unless another is given. */
const file = (
  name: string,
  verdict: Verdict,
  content: () => Buffer | string | readonly Buffer[],
  options: Parameters<typeof upload>[1] = {},
): HostileUpload => ({
  name,
  verdict,
  make: () => {
    const made = content()
    return upload(typeof made === 'string' ? Buffer.from(made) : made, options)
  },
})
const raw = (name: string, verdict: Verdict, make: () => RawRequest): HostileUpload => ({
  name,
  verdict,
  make,
})
const json = (text: string): RawRequest => ({
  headers: { 'content-type': 'application/json' },
  body: [Buffer.from(text)],
})
const hex = (start: string, more = 4_096): Buffer =>
  Buffer.concat([Buffer.from(start, 'hex'), Buffer.alloc(more, 7)])
const filePart = (name: string): string =>
  `${partHead(`name="${name}"; filename="a.csv"`)}${GOOD}\r\n`
const field = (name: string, value: string): string => `${partHead(`name="${name}"`)}${value}\r\n`

/** Complete files: refused at once by their name or first bytes, or when they are read. */
const FILES: readonly HostileUpload[] = [
  file('an empty file', failed(UNPROCESSABLE, 'empty'), () => ''),
  file('blank lines alone', failed(UNPROCESSABLE, 'empty'), () => '\n \n\t\n'.repeat(1_000)),
  file('a header alone', failed(UNPROCESSABLE, 'no records'), () => 'email,name\n'),
  file('no end of line', rows(1), () => 'email\nada@example.com'),
  file('one line of 48 MiB', failed(UNPROCESSABLE, ''), () =>
    Array.from({ length: 48 }, () => Buffer.alloc(MIB, 'x')),
  ),
  file('a million columns in the header', failed(UNPROCESSABLE, ''), () => {
    return `${'email,'.repeat(1_000_000)}\nada@example.com\n`
  }),
  file('a million columns in a record', rows(3, 1), () => {
    return `email,name\na@example.com,A\n${'x,'.repeat(1_000_000)}\nb@example.com,B\n`
  }),
  file('a quote that never closes', failed(UNPROCESSABLE, 'ine 3'), () => [
    Buffer.from('email,name\na@example.com,A\nb@example.com,"B'),
    ...Array.from({ length: 32 }, () => Buffer.alloc(MIB, 'b@example.com,B\n')),
  ]),
  file('a NUL byte', failed(UNPROCESSABLE, 'ine 2'), () => 'email\na\0b@example.com\n'),
  file('NUL bytes deep in the file', failed(UNPROCESSABLE, 'NUL'), () => [
    Buffer.from('email\n'),
    ...Array.from({ length: 4 }, () => Buffer.alloc(MIB, 'someone@example.com\n')),
    Buffer.alloc(MIB),
  ]),
  file('bytes that are no UTF-8 behind its mark', rows(2, 1), () =>
    Buffer.concat([Buffer.from('\ufeffemail\nada@example.com\n'), Buffer.from('ff80c3', 'hex')]),
  ),
  file('UTF-16 that ends within a character', failed(UNPROCESSABLE, 'UTF-16'), () =>
    Buffer.concat([Buffer.from('\ufeffemail\nada@example.com\n', 'utf16le'), Buffer.from([0x41])]),
  ),
  file('UTF-32', rows(1, 1), () => hex('fffe000065000000')),
  file(
    'a gzip bomb',
    failed(TOO_LARGE, 'times its size'),
    () => {
      const member = gzipSync(Buffer.alloc(16 * MIB, 'a@example.com\n'))
      return [gzipSync('email\n'), ...Array.from({ length: 256 }, () => member)]
    },
    { fileName: 'list.csv.gz' },
  ),
  file('gzip within gzip', failed(UNSUPPORTED, 'gzip'), () => gzipSync(gzipSync(GOOD))),
  file('gzip cut off', failed(UNPROCESSABLE, ''), () => {
    return gzipSync(Buffer.alloc(MIB, 'a@example.com\n')).subarray(0, 500)
  }),
  file('gzip with a wrong checksum', failed(UNPROCESSABLE, ''), () => {
    const packed = gzipSync(`email\n${'a@example.com\n'.repeat(1_000)}`)
    packed.fill(0, packed.length - 8)
    return packed
  }),
  file('a ZIP file', failed(UNPROCESSABLE, 'damaged'), () => hex('504b0304')),
  file('text that is called a workbook', rows(1), () => GOOD, {
    fileName: 'list.xlsx',
  }),
  file('an old workbook', refused(UNSUPPORTED, 'Excel'), () => hex('d0cf11e0a1b11ae1')),
  file('a PDF', refused(UNSUPPORTED, 'PDF'), () => '%PDF-1.7\n%\xe2\xe3\n1 0 obj\n'),
  file('a picture', refused(UNSUPPORTED, 'PNG'), () => hex('89504e470d0a1a0a')),
  file('a page', failed(UNSUPPORTED, 'HTML'), () => '<!DOCTYPE html><table><tr><td>email</table>'),
  file('a JSON array', failed(UNSUPPORTED, 'JSON array'), () => '[{"email":"a@example.com"}]'),
  file(
    'NDJSON without an object',
    failed(UNPROCESSABLE, 'JSON object'),
    () => '1\n"a"\n[]\nnull\n',
    { fileName: 'list.ndjson' },
  ),
  file(
    'NDJSON nested 30,000 deep',
    rows(2, 1),
    () => `{"email":"a@example.com"}\n{"email":${'['.repeat(30_000)}${']'.repeat(30_000)}}\n`,
    { fileName: 'list.ndjson' },
  ),
  file(
    'NDJSON lines that do nothing but nest',
    rows(21, 20),
    () =>
      `{"email":"a@example.com"}\n${`{"email":${'['.repeat(30_000)}${']'.repeat(30_000)}}\n`.repeat(20)}`,
    { fileName: 'list.ndjson' },
  ),
  file(
    'NDJSON lines that are nothing but keys',
    rows(21, 20),
    () => {
      const keys = Array.from({ length: 6_000 }, (_, at) => `"${at}":""`).join()
      return `{"email":"a@example.com"}\n${`{"email":"b@example.com",${keys}}\n`.repeat(20)}`
    },
    { fileName: 'list.ndjson' },
  ),
  file(
    'NDJSON with `__proto__` keys',
    rows(1),
    () => '{"email":"a@example.com","__proto__":{"x":1},"constructor":1,"toString":"y"}\n',
    { fileName: 'list.ndjson' },
  ),
  file('headers `__proto__` and `constructor`', rows(1), () => {
    return '__proto__,constructor,email,hasOwnProperty\na,b,ada@example.com,d\n'
  }),
  file('headers that repeat', rows(1), () => 'email,email,name,name\na@example.com,,x,y\n'),
  file('the list of another product', failed(UNPROCESSABLE, 'IP addresses'), () => GOOD, {
    fields: { product: 'ip' },
  }),
  file('lines over 64 KiB', rows(5, 3), () => {
    const line = `a@example.com${`,${'x'.repeat(8_000)}`.repeat(9)}\n`
    return `email,1,2,3,4,5,6,7,8,9\na@example.com\n${line.repeat(3)}b@example.com\n`
  }),
  file('cells of a mebibyte', rows(3, 2), () => {
    const line = `a@example.com,"${'x'.repeat(MIB)}"\n`
    return `email,note\n${line.repeat(2)}b@example.com,\n`
  }),
  file(
    'a mapping to a column that is not there',
    failed(BAD, 'which the file does not have'),
    () => GOOD,
    {
      fields: { product: 'email', mapping: '{"email":"address"}' },
    },
  ),
  file('a mapping beyond the last column', failed(BAD, 'column 9'), () => GOOD, {
    fields: { product: 'email', mapping: '{"email":9}' },
  }),
  file('a mapping of a field of another product', refused(BAD, 'the fields of email'), () => GOOD, {
    fields: { product: 'email', mapping: '{"email":0,"phone":0}' },
  }),
  file('a file name that climbs', rows(1), () => GOOD, {
    fileName: '../../../../tmp/escaped.csv',
  }),
  file('a file name with a control character', refused(BAD, 'malformed'), () => GOOD, {
    fileName: 'list\u0001.csv',
  }),
]

/** Requests that are refused. */
const REQUESTS: readonly HostileUpload[] = [
  raw('another content type', refused(UNSUPPORTED, 'multipart/form-data'), () => ({
    headers: { 'content-type': 'text/csv' },
    body: [Buffer.from(GOOD)],
  })),
  raw('a packed form', refused(UNSUPPORTED, 'Content-Encoding'), () => ({
    ...upload(Buffer.from(GOOD)),
    headers: { ...upload(Buffer.from(GOOD)).headers, 'content-encoding': 'gzip' },
  })),
  raw('no boundary', refused(BAD, ''), () => ({
    ...upload(Buffer.from(GOOD)),
    headers: { 'content-type': 'multipart/form-data' },
  })),
  raw('a form of another boundary', refused(BAD, ''), () => ({
    ...upload(Buffer.from(GOOD)),
    headers: { 'content-type': 'multipart/form-data; boundary=other' },
  })),
  raw('a form cut off', refused(BAD, 'cut off'), () =>
    multipart([Buffer.from(field('product', 'email') + filePart('file'))]),
  ),
  raw('a part without a head', refused(BAD, ''), () =>
    form(`--hostile-boundary\r\n\r\n${FORM_END}`),
  ),
  raw('no file', refused(BAD, 'part `file`'), () => form(field('product', 'email') + FORM_END)),
  raw('two files', refused(BAD, 'exactly one file'), () =>
    form(field('product', 'email') + filePart('file') + filePart('file') + FORM_END),
  ),
  raw('a file in another part', refused(BAD, 'exactly one file'), () =>
    form(field('product', 'email') + filePart('upload') + FORM_END),
  ),
  raw('nested fields', refused(BAD, 'nesting'), () =>
    form(field('mapping[email][0]', 'x') + filePart('file') + FORM_END),
  ),
  raw('a field of an index in the billions', refused(BAD, ''), () =>
    form(field('name[4294967294]', 'x') + filePart('file') + FORM_END),
  ),
  raw('a field `__proto__`', refused(BAD, '__proto__'), () =>
    form(field('product', 'email') + field('__proto__', 'x') + filePart('file') + FORM_END),
  ),
  raw('a field twice', refused(BAD, 'more than once'), () =>
    form(field('product', 'email').repeat(2) + filePart('file') + FORM_END),
  ),
  raw('a field of a mebibyte', refused(BAD, 'too long'), () =>
    form(field('name', 'x'.repeat(MIB)) + filePart('file') + FORM_END),
  ),
  raw('ten thousand fields', refused(BAD, 'Too many'), () =>
    form(field('name', 'x').repeat(10_000) + FORM_END),
  ),
  raw('a part with a thousand heads', refused(BAD, ''), () =>
    form(
      `--hostile-boundary\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n` +
        `${'X-Head: x\r\n'.repeat(1_000)}\r\n${GOOD}\r\n`,
    ),
  ),
  raw('an unknown product', refused(BAD, '`product` must be one of'), () =>
    upload(Buffer.from(GOOD), { fields: { product: 'postcode' } }),
  ),
  raw('a mapping that is no JSON', refused(BAD, '`mapping`'), () =>
    upload(Buffer.from(GOOD), { fields: { product: 'email', mapping: '{"email"' } }),
  ),
  raw('a mapping that does nothing but nest', refused(BAD, '`mapping`'), () =>
    upload(Buffer.from(GOOD), { fields: { product: 'email', mapping: '['.repeat(16_000) } }),
  ),
  raw('a length over the limit', refused(TOO_LARGE, ''), () => ({
    headers: { ...upload(Buffer.from(GOOD)).headers, 'content-length': String(1024 * 1024 * MIB) },
    body: [],
  })),
  raw('JSON that is none', refused(BAD, 'not JSON'), () => json('{"product":"email","records":[')),
  raw('JSON nested 50,000 deep', refused(BAD, ''), () =>
    json(`{"product":"email","records":${'['.repeat(50_000)}${']'.repeat(50_000)}}`),
  ),
  raw('JSON of 16 MiB that does nothing but nest', refused(BAD, ''), () =>
    json('['.repeat(16 * MIB)),
  ),
  raw('records of 16 MiB that do nothing but nest', refused(BAD, 'nests deeper'), () =>
    json(`{"product":"email","records":${'['.repeat(16 * MIB - 100)}`),
  ),
  raw('5.6 million empty records', refused(BAD, 'at most 10000'), () =>
    json(`{"product":"email","records":[${'{},'.repeat(5_592_000)}{}]}`),
  ),
  raw('a record of 2 million keys', refused(BAD, 'more than 100 keys'), () =>
    json(`{"product":"email","records":[{${'"email":"",'.repeat(1_500_000)}"ref":""}]}`),
  ),
  raw('a record of 8 million items', refused(BAD, 'more than 100 keys'), () =>
    json(`{"product":"email","records":[{"email":[${'0,'.repeat(8_000_000)}0]}]}`),
  ),
  raw('a field of 16 MiB beside the records', refused(BAD, '`name` is longer'), () =>
    json(`{"product":"email","name":"${'x'.repeat(15 * MIB)}","records":[{}]}`),
  ),
  raw('a field whose name is 15 MiB long', refused(BAD, 'name of a field'), () =>
    json(`{"product":"email","${'x'.repeat(15 * MIB)}":1,"records":[{}]}`),
  ),
  raw('records of 15 MiB in one', rows(2, 1), () =>
    json(
      `{"product":"email","records":[{"email":"${'x'.repeat(15 * MIB)}"},{"email":"a@example.com"}]}`,
    ),
  ),
  raw('10,001 records', refused(BAD, 'at most 10000'), () =>
    json(`{"product":"email","records":[${'{},'.repeat(10_000)}{}]}`),
  ),
  raw('17 MiB of JSON', refused(TOO_LARGE, ''), () =>
    json(`{"product":"email","records":["${'x'.repeat(17 * MIB)}"]}`),
  ),
]

/** Clients that disconnect or never end. */
const SENDERS: readonly HostileUpload[] = [
  raw('a connection cut within the file', 'gone', () =>
    multipart(
      [Buffer.from(partHead('name="file"; filename="a.csv"')), Buffer.alloc(MIB, 'x')],
      'cut',
    ),
  ),
  raw('a connection cut before the file', 'gone', () => form(field('product', 'email'), 'cut')),
  raw('a drip without end', refused(BAD, 'slower'), () =>
    form(partHead('name="file"; filename="a.csv"') + 'email\n', 'drip'),
  ),
]

/** Hostile uploads, each with its expected result. */
export const HOSTILE_UPLOADS: readonly HostileUpload[] = [...FILES, ...REQUESTS, ...SENDERS]
