import { IntakeError } from './intake-error.ts'

/** The formats that are read. */
const FILE_FORMATS = ['csv', 'tsv', 'txt', 'ndjson'] as const
/** One of the formats. */
export type FileFormat = (typeof FILE_FORMATS)[number]

/** First bytes of files that are no text, and what to do about them. Source: the formats' own documents. */
const BINARY_KINDS: readonly { start: string; at?: number; what: string }[] = [
  { start: '504b0304', what: 'a ZIP file or an Excel workbook' },
  { start: '504b0506', what: 'an empty ZIP file' },
  { start: 'd0cf11e0a1b11ae1', what: 'an old Excel workbook' },
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

/** Throws `unsupported_media_type` when the unpacked bytes begin like a file that is no text. */
export function refuseBinary(start: Buffer): void {
  for (const { start: magic, at = 0, what } of BINARY_KINDS) {
    const bytes = Buffer.from(magic, 'hex')
    if (start.subarray(at, at + bytes.length).equals(bytes)) throw unsupported(what)
  }
}

/** Throws `unsupported_media_type` when the text is a page or a document rather than records. */
export function refuseMarkup(text: string): void {
  const start = text.slice(0, 512).trimStart().toLowerCase()
  if (/^<(?:!doctype|html|table|\?xml|head|body)\b/.test(start))
    throw unsupported('an HTML or XML page')
  if (start.startsWith('{\\rtf')) throw unsupported('a rich text document')
  if (start.startsWith('begin:vcard')) throw unsupported('a vCard file')
}

/** The format by a file's name, or undefined; `.gz` is ignored. Throws on names of other formats. */
export function formatOfName(fileName: string): FileFormat | undefined {
  const extension = /\.([a-z0-9]+)(?:\.gz)?$/i.exec(fileName)?.[1]?.toLowerCase()
  switch (extension) {
    case 'csv':
    case 'tsv':
    case 'txt':
    case 'ndjson':
      return extension
    case 'jsonl':
      return 'ndjson'
    case 'tab':
      return 'tsv'
    case 'xlsx':
    case 'xls':
    case 'xlsm':
    case 'ods':
    case 'numbers':
      throw unsupported('a spreadsheet')
    default:
      return undefined
  }
}

/** The format of a text by its first character: a JSON object begins NDJSON, all else is cells. */
export function formatOfText(text: string): FileFormat {
  const start = text.trimStart()
  if (start.startsWith('{"') || /^\{\s*"/.test(start)) return 'ndjson'
  if (/^\[\s*[{[]/.test(start)) {
    throw unsupported('a JSON array', 'send it as {"records": [...]} or as one object a line')
  }
  return 'csv'
}

function unsupported(
  what: string,
  instead = 'save the file as CSV, TSV, text or NDJSON',
): IntakeError {
  return new IntakeError('unsupported_media_type', `The file is ${what}; ${instead}.`)
}
