import { randomUUID } from 'node:crypto'
import { open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { entry as entryName } from '@plumbline/contract/batch-request'
import { withoutBidiControls } from '@plumbline/contract/bidi-controls'
import { composed } from '@plumbline/contract/composed-text'
import { writeNewFile } from '@plumbline/storage/new-file'
import type { Entry } from 'yauzl'
import { fileSource, isGzip, tooLarge, unpackedBytes } from './bytes.ts'
import {
  formatOfName,
  isOldOffice,
  ofOtherArchive,
  refuseOldWorkbook,
  type FileFormat,
} from './file-kind.ts'
import type { BatchFileOptions } from './file-layout.ts'
import { IntakeError } from './intake-error.ts'
import { openOds } from './ods.ts'
import type { Workbook } from './workbook.ts'
import { openXlsx } from './xlsx.ts'
import { openZip, type ZipArchive } from './zip-archive.ts'

/** The content of an uploaded file, unpacked if it was packed. */
export type Container = AsyncDisposable & {
  /** The file chosen from an archive. */
  readonly entry: string | null
} & (
    | {
        readonly kind: 'text'
        /** Format by the extension of the file, or of that in the archive. */
        readonly named: FileFormat | undefined
        /** The bytes of the text; can be read repeatedly. */
        bytes(signal: AbortSignal): AsyncIterable<Buffer>
      }
    | { readonly kind: 'workbook'; readonly format: 'xlsx' | 'ods'; readonly workbook: Workbook }
  )

/** An archive of which another file, or one at all, must be chosen by `entry`. */
export class EntryFault extends IntakeError {
  /** The files to choose from, the first ones if they are many. */
  readonly entries: readonly string[]

  constructor(message: string, entries: readonly string[]) {
    super('unprocessable', message)
    this.entries = entries
  }
}

/** A file as uploaded, or unpacked once; nested archives are not unpacked. */
interface Packed {
  readonly path: string
  readonly fileName: string
  readonly isUnpacked: boolean
  readonly entry: string | null
  dispose(): Promise<void>
}

/**
 * Opens an uploaded file: a text, a workbook, a gzip file of one of them, or a ZIP file that holds
 * one, or the one that `entry` names.
 *
 * @throws IntakeError for other files, and for one that is empty, damaged, or needs `entry`
 */
export async function openContainer(
  options: BatchFileOptions,
  signal: AbortSignal,
): Promise<Container> {
  const file = {
    path: options.path,
    fileName: options.fileName ?? '',
    isUnpacked: false,
    entry: null,
    dispose: async () => {},
  }
  const container = await openPacked(file, options, signal)
  if (options.entry !== undefined && container.entry === null) {
    await container[Symbol.asyncDispose]()
    throw new IntakeError(
      'bad_request',
      '`entry` names a file of a ZIP file, and this file is not one; leave it out.',
    )
  }
  return container
}

async function openPacked(
  file: Packed,
  options: BatchFileOptions,
  signal: AbortSignal,
): Promise<Container> {
  try {
    const source = await fileSource(file.path)
    if (source.sizeBytes === 0) throw emptyFile()
    const { uploadBytes } = options.limits
    if (source.sizeBytes > uploadBytes) throw tooLarge('file', uploadBytes)
    const start = await startOf(file.path)
    if (isZip(start)) return await openArchive(file, options, signal)
    const gzip = isGzip(start)
    const bytes = (ending: AbortSignal): AsyncIterable<Buffer> =>
      unpackedBytes(source, gzip, options.limits, ending)
    if (gzip && !file.isUnpacked && isZip(await firstOf(bytes(signal)))) {
      const inner = { ...file, fileName: file.fileName.replace(/\.gz$/i, '') }
      return await openPacked(await unpackTo(inner, bytes(signal), options), options, signal)
    }
    if (!gzip) await refuseOldWorkbook(start, file.path)
    const { fileName, entry, dispose } = file
    const named = options.format === 'records' ? undefined : textFormatOf(fileName)
    return { kind: 'text', named, bytes, entry, [Symbol.asyncDispose]: dispose }
  } catch (error) {
    await file.dispose()
    throw error
  }
}

/** The format that a text has by its name; a text with the name of a workbook is read as text. */
function textFormatOf(fileName: string): FileFormat | undefined {
  const named = formatOfName(fileName)
  return named === 'xlsx' || named === 'ods' ? undefined : named
}

async function openArchive(
  file: Packed,
  options: BatchFileOptions,
  signal: AbortSignal,
): Promise<Container> {
  const zip = await openZip(file.path)
  try {
    const { entry } = file
    const kind = await kindOf(zip, signal)
    if (kind === 'xlsx' || kind === 'ods') {
      const openWorkbook = kind === 'xlsx' ? openXlsx : openOds
      const workbook = await openWorkbook(zip, options.limits, signal)
      const dispose = async (): Promise<void> => {
        await workbook[Symbol.asyncDispose]()
        await file.dispose()
      }
      return { kind: 'workbook', format: kind, workbook, entry, [Symbol.asyncDispose]: dispose }
    }
    if (kind !== 'archive') throw ofOtherArchive(kind)
    if (file.isUnpacked) {
      throw new IntakeError(
        'unprocessable',
        'The file is a ZIP file inside another; upload the inner one.',
      )
    }
    return await openEntry(zip, entryOf(zip, options), file, options, signal)
  } catch (error) {
    await zip[Symbol.asyncDispose]()
    throw error
  }
}

/** Recognizes archives of applications by the files in them; all others are archives of files. */
async function kindOf(
  zip: ZipArchive,
  signal: AbortSignal,
): Promise<'xlsx' | 'ods' | 'archive' | 'xlsb' | 'numbers' | 'document' | 'protected'> {
  const mimetype = zip.find('mimetype')
  if (mimetype !== undefined && mimetype.uncompressedSize < 200) {
    const type = (await buffer(zip.read(mimetype, signal))).toString('latin1').trim()
    if (type.startsWith('application/vnd.oasis.opendocument.spreadsheet')) {
      return (await isProtected(zip, signal)) ? 'protected' : 'ods'
    }
    if (type.startsWith('application/vnd.oasis.opendocument')) return 'document'
  }
  if (zip.find('xl/workbook.bin') !== undefined) return 'xlsb'
  if (zip.find('index/document.iwa') !== undefined || zip.find('index.zip') !== undefined) {
    return 'numbers'
  }
  const isPackage = zip.find('[content_types].xml') !== undefined
  if (!isPackage) return 'archive'
  const isDocument = ['word/document.xml', 'ppt/presentation.xml', 'visio/document.xml'].some(
    (name) => zip.find(name) !== undefined,
  )
  return isDocument ? 'document' : 'xlsx'
}

const MANIFEST_BYTES = 1024 * 1024

async function isProtected(zip: ZipArchive, signal: AbortSignal): Promise<boolean> {
  const manifest = zip.find('meta-inf/manifest.xml')
  if (manifest === undefined || manifest.uncompressedSize > MANIFEST_BYTES) return false
  return (await buffer(zip.read(manifest, signal))).includes('encryption-data')
}

/** Files that archive programs and operating systems add. */
const NO_FILE = /(?:^|\/)(?:__MACOSX\/|\.[^/]*$|thumbs\.db$|desktop\.ini$)/i

const SHOWN_NAMES = 20

function entryOf(zip: ZipArchive, { entry: asked }: BatchFileOptions): Entry {
  const files = zip.entries.filter(({ fileName }) => !NO_FILE.test(fileName))
  const list = files
    .slice(0, SHOWN_NAMES)
    .map(({ fileName }) => shownName(fileName))
    .join(', ')
  const names = files.length > SHOWN_NAMES ? `${list} and ${files.length - SHOWN_NAMES} more` : list
  const fault = (message: string): EntryFault => new EntryFault(message, choicesOf(files))
  if (asked !== undefined) {
    const exact = files.filter(({ fileName }) => fileName === asked)
    const alike =
      exact.length > 0 ? exact : files.filter(({ fileName }) => isAlike(fileName, asked))
    const [found] = alike
    if (found !== undefined && alike.length === 1) return found
    throw fault(
      `The ZIP file has ${found === undefined ? 'no' : 'more than one'} file ${shownName(asked)}; it holds ${names}.`,
    )
  }
  const [only] = files
  if (only === undefined) throw new IntakeError('unprocessable', 'The ZIP file holds no file.')
  if (files.length > 1) {
    throw fault(
      `The ZIP file holds ${files.length} files; upload one of them, or name it as \`entry\`: ${names}.`,
    )
  }
  return only
}

/** Characters of the names that can be chosen from, all together. */
const CHOICES_CHARS = 4_000

/** The names that `entry` can have: those of control characters, or very long ones, are not taken. */
function choicesOf(files: readonly Entry[]): readonly string[] {
  let chars = 0
  return files
    .map(({ fileName }) => fileName)
    .filter((name) => entryName.safeParse(name).success)
    .filter((name) => (chars += name.length) <= CHOICES_CHARS)
}

/** Whether two file names are equal, without folders and ignoring case and Unicode form. */
function isAlike(fileName: string, asked: string): boolean {
  const plain = (name: string): string => composed(name).toLowerCase()
  const base = fileName.slice(fileName.lastIndexOf('/') + 1)
  return plain(fileName) === plain(asked) || plain(base) === plain(asked)
}

function shownName(name: string): string {
  const plain = withoutBidiControls(name).replaceAll(/\p{Cc}/gu, '\ufffd')
  return JSON.stringify(plain.length > 100 ? `${plain.slice(0, 100)}...` : plain)
}

async function openEntry(
  zip: ZipArchive,
  entry: Entry,
  file: Packed,
  options: BatchFileOptions,
  signal: AbortSignal,
): Promise<Container> {
  const { uploadBytes } = options.limits
  // Databases store no NUL.
  const name = entry.fileName.replaceAll('\0', '\ufffd')
  const bytes = (ending: AbortSignal): AsyncIterable<Buffer> => zip.read(entry, ending)
  if (entry.uncompressedSize > uploadBytes) throw tooLarge('file', uploadBytes)
  const start = await firstOf(bytes(signal))
  if (isZip(start) || isGzip(start) || isOldOffice(start)) {
    const inner = { ...file, fileName: name, entry: name }
    const unpacked = await unpackTo(inner, bytes(signal), options)
    await zip[Symbol.asyncDispose]()
    return await openPacked(unpacked, options, signal)
  }
  return {
    kind: 'text',
    named: textFormatOf(name),
    bytes,
    entry: name,
    [Symbol.asyncDispose]: async () => {
      await zip[Symbol.asyncDispose]()
      await file.dispose()
    },
  }
}

/**
 * Unpacks a workbook, which needs random access, to a temporary file that is removed with its
 * container.
 */
async function unpackTo(
  file: Packed,
  bytes: AsyncIterable<Buffer>,
  options: BatchFileOptions,
): Promise<Packed> {
  const path = join(options.scratchDir, `unpacked-${randomUUID()}`)
  const dispose = async (): Promise<void> => {
    await rm(path, { force: true })
    await file.dispose()
  }
  await writeNewFile(path, (target) => pipeline(bytes, target))
  return { ...file, path, isUnpacked: true, dispose }
}

const START_BYTES = 512

async function startOf(path: string): Promise<Buffer> {
  await using handle = await open(path, 'r')
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(START_BYTES), 0, START_BYTES, 0)
  return buffer.subarray(0, bytesRead)
}

async function firstOf(chunks: AsyncIterable<Buffer>): Promise<Buffer> {
  for await (const chunk of chunks) if (chunk.length > 3) return Buffer.from(chunk)
  return Buffer.alloc(0)
}

/**
 * Local file headers, and the end of the directory of an archive without files. Source: APPNOTE
 * 4.3.
 */
function isZip(start: Buffer): boolean {
  const magic = start.subarray(0, 4).toString('hex')
  return magic === '504b0304' || magic === '504b0506'
}

/** The refusal of a file without bytes. */
export function emptyFile(): IntakeError {
  return new IntakeError(
    'unprocessable',
    'The file is empty; upload a file with at least one record.',
  )
}
