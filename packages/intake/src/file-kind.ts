import { open } from 'node:fs/promises'
import { IntakeError } from './intake-error.ts'

/** The supported formats: text files and workbooks. */
export type FileFormat = 'csv' | 'tsv' | 'txt' | 'ndjson' | 'xlsx' | 'ods'

const FORMATS_BY_EXTENSION: ReadonlyMap<string, FileFormat> = new Map([
  ['csv', 'csv'],
  ['tsv', 'tsv'],
  ['tab', 'tsv'],
  ['txt', 'txt'],
  ['ndjson', 'ndjson'],
  ['jsonl', 'ndjson'],
  ['xlsx', 'xlsx'],
  ['xlsm', 'xlsx'],
  ['ods', 'ods'],
])

/** The first bytes of legacy Office files. Source: [MS-CFB] 2.2. */
const OLD_MAGIC = 'd0cf11e0a1b11ae1'

/**
 * First bytes of files that are not text, and what to do about them. Source: the specifications of
 * the formats.
 */
const BINARY_KINDS: readonly {
  start: string
  at?: number
  what: string
  instead?: string
}[] = [
  {
    start: OLD_MAGIC,
    what: 'an old Excel workbook (.xls), or a workbook protected by a password',
    instead: 'open it, take the password off if it has one, and save it as .xlsx or CSV',
  },
  { start: '25504446', what: 'a PDF document' },
  { start: '1f8b', what: 'a gzip file inside a gzip file' },
  { start: '425a68', what: 'a bzip2 file' },
  { start: 'fd377a585a00', what: 'an xz file' },
  { start: '28b52ffd', what: 'a zstd file' },
  { start: '377abcaf271c', what: 'a 7z file' },
  { start: '526172211a07', what: 'a RAR file' },
  { start: '7573746172', at: 257, what: 'a tar archive' },
  { start: '89504e47', what: 'a PNG image' },
  { start: 'ffd8ff', what: 'a JPEG image' },
  { start: '47494638', what: 'a GIF image' },
  { start: '50415231', what: 'a Parquet file' },
  { start: '53514c69746520666f726d6174', what: 'an SQLite database' },
  { start: '7f454c46', what: 'a program' },
]

/**
 * @throws IntakeError `unsupported_media_type` if the unpacked bytes begin like a file that is not
 * text
 */
export function refuseBinary(start: Buffer): void {
  for (const { start: magic, at = 0, what, instead } of BINARY_KINDS) {
    const bytes = Buffer.from(magic, 'hex')
    if (start.subarray(at, at + bytes.length).equals(bytes)) throw unsupported(what, instead)
  }
}

/** @throws IntakeError `unsupported_media_type` if the text is HTML or another markup document */
export function refuseMarkup(text: string): void {
  const start = text.slice(0, 512).trimStart().toLowerCase()
  if (/^<(?:!doctype|html|table|\?xml|head|body)\b/.test(start))
    throw unsupported('an HTML or XML page')
  if (start.startsWith('{\\rtf')) throw unsupported('a rich text document')
  if (start.startsWith('begin:vcard')) throw unsupported('a vCard file')
}

/**
 * The format by a file's extension, or undefined; `.gz` is ignored.
 *
 * @throws on extensions of other formats
 */
export function formatOfName(fileName: string): FileFormat | undefined {
  const [, extension = ''] = /\.([a-z0-9]+)(?:\.gz)?$/.exec(fileName.toLowerCase()) ?? []
  if (extension === 'numbers' || extension === 'xlsb') throw ofOtherArchive(extension)
  return FORMATS_BY_EXTENSION.get(extension)
}

/** @throws IntakeError `unsupported_media_type` if the text is a JSON array of records */
export function refuseJsonArray(text: string): void {
  if (/^\[\s*[{[]/.test(text.trimStart())) {
    throw unsupported('a JSON array', 'send it as {"records": [...]} or as one object a line')
  }
}

const SAVE_AS_XLSX = 'open it and save it as .xlsx or CSV'

/** Archives that look like a workbook and cannot be read, and what to do about them. */
const OTHER_ARCHIVES = {
  xlsb: ['a binary workbook (.xlsb)', SAVE_AS_XLSX],
  numbers: ['of Numbers', 'in Numbers choose File > Export To > Excel and upload that'],
  document: ['a text document or presentation', 'save its table as .xlsx or CSV'],
  protected: [
    'a workbook protected by a password',
    'open it, take the password off (File > Info > Protect Workbook > Encrypt with Password), save it and upload that',
  ],
} as const

/** The refusal of such an archive. */
export function ofOtherArchive(kind: keyof typeof OTHER_ARCHIVES): IntakeError {
  const [what, instead] = OTHER_ARCHIVES[kind]
  return unsupported(what, instead)
}

/**
 * Bytes at the start and end of a legacy Office file that are searched for the names of its parts.
 */
const OLD_BYTES = 1024 * 1024

/** Whether bytes begin as a legacy Office file does. */
export function isOldOffice(start: Buffer): boolean {
  return start.subarray(0, 8).equals(Buffer.from(OLD_MAGIC, 'hex'))
}

/**
 * @throws if a file begins like a legacy Office file: an .xls workbook or, since 2007, a workbook
 * protected by a password. Source: [MS-CFB] 2.2, [MS-OFFCRYPTO] 2.3.4.4.
 */
export async function refuseOldWorkbook(start: Buffer, path: string): Promise<void> {
  if (!isOldOffice(start)) return
  await using handle = await open(path, 'r')
  const { size } = await handle.stat()
  const has = async (name: string): Promise<boolean> => {
    for (const from of [0, Math.max(0, size - OLD_BYTES)]) {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(OLD_BYTES), 0, OLD_BYTES, from)
      if (buffer.subarray(0, bytesRead).includes(Buffer.from(name, 'utf16le'))) return true
    }
    return false
  }
  if (await has('EncryptedPackage')) throw ofOtherArchive('protected')
  if ((await has('Workbook')) || (await has('Book'))) {
    throw unsupported('an old Excel workbook (.xls)', SAVE_AS_XLSX)
  }
  throw unsupported('an old Excel workbook (.xls) or another file of old Office', SAVE_AS_XLSX)
}

function unsupported(
  what: string,
  instead = 'save the file as .xlsx, CSV, TSV, text or NDJSON',
): IntakeError {
  return new IntakeError('unsupported_media_type', `The file is ${what}; ${instead}.`)
}
