import type { BatchFault } from '@plumbline/contract/batch-view'
import { fieldsOf } from '@plumbline/contract/batch-request'
import { encodingNamed, type Encoding } from '@plumbline/contract/encodings'
import { VENDORS } from '@plumbline/contract/vendors'
import type { Product } from '@plumbline/contract/products'
import { findClaimColumns, type ClaimColumns } from './claim-columns.ts'
import { isVendorWord } from './claims.ts'
import { findRoles } from './columns.ts'
import { emptyFile, openContainer, type Container } from './container.ts'
import { createDecoder, DecodeFault, type FoundEncoding } from './encoding.ts'
import type { BatchFileOptions, FileLayout, FoundLayout } from './file-layout.ts'
import { refuseBinary } from './file-kind.ts'
import { faultOfBytes } from './framing-fault.ts'
import { parseRecord, type JsonKeys } from './json-row.ts'
import { IntakeError } from './intake-error.ts'
import { mapColumns, type AskedMapping, type ColumnMapping } from './mapping.ts'
import type { FileSketch } from './preview-columns.ts'
import { findJsonLayout } from './json-layout.ts'
import { scanEncoding } from './scan-encoding.ts'
import { findSheet } from './sheet-layout.ts'
import { findTextLayout } from './text-layout.ts'

/** An opened batch file: everything but its rows is known. */
export interface BatchFile extends FileSketch {
  readonly options: BatchFileOptions
  /** The encoding of its text; null for a workbook, which declares it. */
  readonly found: FoundEncoding | null
  readonly layout: FileLayout
  /** Characters at the start that belong to no record: a separator line. */
  readonly skipChars: number
  /** Records at the start that are no rows: blank ones, titles, and the header. */
  readonly skipRecords: number
  /** The file chosen from an archive. */
  readonly entry: string | null
  readonly mapping: ColumnMapping
  /** Columns of another service's verdicts; null if the batch does not accept them. */
  readonly claims: ClaimColumns | null
}

const SAMPLE_BYTES = 256 * 1024

/**
 * Determines how a file is to be read from its start; the encoding of a text from all of it.
 *
 * @throws IntakeError if it cannot be read: empty, of an unsupported kind, without a column for the
 * product, an unknown mapping, sheet or entry, damaged, or over a limit that shows at once
 */
export async function openBatchFile(
  options: BatchFileOptions,
  signal = new AbortController().signal,
): Promise<BatchFile> {
  const asked = askedEncoding(options)
  await using container = await openContainer(options, signal)
  const { entry } = container
  if (container.kind === 'workbook') {
    if (asked !== undefined) throw noText()
    const layout = await findSheet(container.workbook, container.format, options, signal)
    return batchFileOf(options, { found: null, entry }, layout)
  }
  if (options.sheet !== undefined) throw noWorkbook()
  const { found, layout } = await findText(container, options, asked, signal)
  return batchFileOf(options, { found, entry }, layout)
}

async function findText(
  container: Extract<Container, { kind: 'text' }>,
  options: BatchFileOptions,
  asked: Encoding | undefined,
  signal: AbortSignal,
): Promise<{ found: FoundEncoding; layout: FoundLayout }> {
  const named = options.format ?? container.named
  // Records of the API are few, and any of them can be the first with some key.
  const sampleBytes = named === 'records' ? options.limits.uploadBytes : SAMPLE_BYTES
  const start = await startOf(container.bytes(signal), sampleBytes + 1)
  const cut = start.length > sampleBytes
  const bytes = cut ? start.subarray(0, sampleBytes) : start
  if (bytes.length === 0) throw emptyFile()
  refuseBinary(bytes)
  const found = await scanEncoding(bytes, asked, () => container.bytes(signal))
  const text = decodeSample(bytes, cut, found)
  if (text.trim() === '' && !cut) throw emptyFile()
  const sample = { text, cut }
  if (named === 'ndjson' || named === 'records') {
    return { found, layout: findJsonLayout(sample, named, options) }
  }
  const isJson =
    named === undefined ? startsJson(text) : options.format === undefined && startsWithObject(text)
  const layout = isJson
    ? findJsonLayout(sample, 'ndjson', options)
    : findTextLayout(sample, named, options)
  return { found, layout }
}

function batchFileOf(
  options: BatchFileOptions,
  file: Pick<BatchFile, 'found' | 'entry'>,
  laidOut: FoundLayout,
): BatchFile {
  const { rows, layout, header } = laidOut
  const columns = Math.max(
    options.ownColumns?.count ?? 0,
    header?.length ?? 0,
    ...rows.map((row) => row.length),
  )
  if (columns > options.limits.columns) {
    throw new IntakeError(
      'unprocessable',
      `The file has ${columns} columns; the most is ${options.limits.columns}.`,
    )
  }
  const roles = findRoles(header, rows)
  const asked =
    laidOut.format === 'records'
      ? { ...fieldsByName(options.product, header ?? []), ...options.mapping }
      : options.mapping
  const sketch: FileSketch = {
    format: laidOut.format,
    encoding: file.found?.encoding ?? null,
    delimiter: laidOut.delimiter,
    hasBackslashes: layout.kind === 'csv' && layout.dialect.hasBackslashes === true,
    sheet: layout.kind === 'sheet' ? layout.sheet : null,
    headerRow: header !== null && layout.kind !== 'json' ? laidOut.skipRecords : null,
    header,
    columns,
    rows,
    roles,
  }
  const mapping = mappingOf(options, sketch, asked)
  return {
    options,
    ...file,
    ...sketch,
    layout: layout.kind === 'json' ? { kind: 'json', keys: keysOf(mapping) } : layout,
    skipChars: laidOut.skipChars,
    skipRecords: laidOut.skipRecords,
    mapping,
    claims: claimsOf(options, sketch),
  }
}

/** The option of the request that must be changed. */
type FaultyField = NonNullable<BatchFault['field']>

/** A file that could be read with another mapping; its preview can still be shown. */
export class MappingFault extends IntakeError {
  readonly field: FaultyField
  readonly sketch: FileSketch

  constructor(field: FaultyField, fault: IntakeError, sketch: FileSketch) {
    super(fault.code, fault.message, { cause: fault })
    this.field = field
    this.sketch = sketch
  }
}

function mappingOf(
  { product }: BatchFileOptions,
  sketch: FileSketch,
  asked: AskedMapping | undefined,
): ColumnMapping {
  try {
    return mapColumns({ product, ...sketch }, asked)
  } catch (error) {
    throw error instanceof IntakeError ? new MappingFault('mapping', error, sketch) : error
  }
}

/** The columns of the verdicts that the batch accepts. */
function claimsOf({ known, knownAt }: BatchFileOptions, sketch: FileSketch): ClaimColumns | null {
  if (known === undefined) return null
  const found = findClaimColumns(sketch.header ?? [], sketch.rows, isVendorWord)
  if (found === undefined) {
    const vendors = Object.values(VENDORS).join(', ')
    const said = `\`known\` goes by the verdicts of ${vendors}, and the file has no column of theirs such as "ZB Status" or "Emailable State"; leave it out.`
    throw new MappingFault('known', new IntakeError('unprocessable', said), sketch)
  }
  if (found.at === undefined && knownAt === undefined) {
    const said = `The file does not tell when ${VENDORS[found.vendor]} gave its verdicts; send the day as known_at, such as 2026-11-01.`
    throw new MappingFault('known_at', new IntakeError('unprocessable', said), sketch)
  }
  return found
}

/** Records of the API name their fields: no column is guessed. */
function fieldsByName(product: Product, header: readonly string[]): AskedMapping {
  const fields = fieldsOf(product).filter((field) => header.includes(field))
  return Object.fromEntries(fields.map((field) => [field, field]))
}

function keysOf(mapping: ColumnMapping): JsonKeys {
  return Object.fromEntries(
    Object.entries(mapping).flatMap(([field, { header }]) =>
      header === null ? [] : [[field, header]],
    ),
  )
}

async function startOf(bytes: AsyncIterable<Buffer>, sizeBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of bytes) {
    chunks.push(Buffer.from(chunk))
    size += chunk.length
    if (size >= sizeBytes) break
  }
  return Buffer.concat(chunks).subarray(0, sizeBytes)
}

function decodeSample(bytes: Buffer, cut: boolean, found: FoundEncoding): string {
  const decoder = createDecoder(found)
  try {
    const text = decoder.decode(bytes)
    return cut ? text : text + decoder.end()
  } catch (error) {
    if (error instanceof DecodeFault) throw faultOfBytes(error, [bytes])
    throw error
  }
}

function askedEncoding({ encoding }: BatchFileOptions): Encoding | undefined {
  if (encoding === undefined) return undefined
  const named = encodingNamed(encoding)
  if (named === undefined) {
    throw new IntakeError('bad_request', `The encoding ${JSON.stringify(encoding)} is not known.`)
  }
  return named
}

function startsJson(text: string): boolean {
  return /^\s*(?:\{\s*["}]|\[\s*[{[\]])/.test(text.slice(0, 1024))
}

/** Whether the first line with anything in it is a JSON object, which no line of cells is. */
function startsWithObject(text: string): boolean {
  const [line = ''] = /^\s*\{.*/.exec(text) ?? []
  return parseRecord(line.trim()) !== undefined
}

function noText(): IntakeError {
  return new IntakeError(
    'bad_request',
    '`encoding` is of text files, and the file is a workbook; leave it out.',
  )
}

function noWorkbook(): IntakeError {
  return new IntakeError(
    'bad_request',
    '`sheet` names a sheet of a workbook, and this file is not one; leave it out.',
  )
}
