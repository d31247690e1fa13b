import { pipeline } from 'node:stream/promises'
import { crc32, createInflateRaw } from 'node:zlib'
import { openPromise, type Entry, type ZipFile } from 'yauzl'
import { IntakeError } from './intake-error.ts'

/** An open ZIP file. */
export interface ZipArchive extends AsyncDisposable {
  /** Files, in the order of the directory, without folders. */
  readonly entries: readonly Entry[]
  /** The file of a name, ignoring case. */
  find(name: string): Entry | undefined
  /** The bytes of a file, unpacked and verified: at most as many as it says. Chunks stay valid. */
  read(entry: Entry, signal: AbortSignal): AsyncGenerator<Buffer>
}

/** Files in an archive at most, enough for a workbook with thousands of sheets and pictures. */
const MAX_ENTRIES = 10_000

/** Bytes of all their names, comments and extra fields together: each can have 64 KiB of each. */
const MAX_DIRECTORY_BYTES = 4 * 1024 * 1024

/** Bytes that all files of an archive may unpack to, together. */
const MAX_UNPACKED_BYTES = 4 * 1024 * 1024 * 1024

/** Beyond this many bytes a file that expands to more than this ratio is a decompression bomb. */
const RATIO_FREE_BYTES = 16 * 1024 * 1024
const MAX_RATIO = 250

const CHUNK_BYTES = 64 * 1024

/**
 * Opens a ZIP file for reading.
 *
 * @throws IntakeError `unprocessable` if it is damaged, `payload_too_large` beyond a limit
 */
export async function openZip(path: string): Promise<ZipArchive> {
  const zip = await openPromise(path, { lazyEntries: true, autoClose: false }).catch(
    (error: unknown) => {
      if (isFault(error)) throw damaged(error)
      throw error
    },
  )
  try {
    const entries = await entriesOf(zip)
    const byName = new Map(entries.map((entry) => [entry.fileName.toLowerCase(), entry]))
    const budget = { left: MAX_UNPACKED_BYTES }
    return {
      entries,
      find: (name) => byName.get(name.toLowerCase()),
      read: (entry, signal) => readEntry(zip, entry, budget, signal),
      [Symbol.asyncDispose]: async () => zip.close(),
    }
  } catch (error) {
    zip.close()
    throw error
  }
}

async function entriesOf(zip: ZipFile): Promise<Entry[]> {
  if (zip.entryCount > MAX_ENTRIES) {
    throw new IntakeError(
      'payload_too_large',
      `The ZIP file says that it holds ${zip.entryCount} files; the most is ${MAX_ENTRIES}.`,
    )
  }
  const entries: Entry[] = []
  let bytes = 0
  try {
    for await (const entry of zip.eachEntry()) {
      bytes += entry.fileNameLength + entry.extraFieldLength + entry.fileCommentLength
      if (bytes > MAX_DIRECTORY_BYTES) throw longNames()
      if (!entry.fileName.endsWith('/')) entries.push(entry)
    }
  } catch (error) {
    throw error instanceof IntakeError ? error : damaged(error)
  }
  return entries
}

async function* readEntry(
  zip: ZipFile,
  entry: Entry,
  budget: { left: number },
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  refuseUnreadable(entry)
  let total = 0
  let sum = 0
  try {
    for await (const { chunk, packedBytes } of unpack(zip, entry, signal)) {
      total += chunk.length
      budget.left -= chunk.length
      sum = crc32(chunk, sum)
      if (total > Math.max(RATIO_FREE_BYTES, packedBytes * MAX_RATIO) || budget.left < 0) {
        throw inflatesTooMuch()
      }
      if (total > entry.uncompressedSize) throw damaged()
      yield chunk
    }
  } catch (error) {
    signal.throwIfAborted()
    throw isFault(error) ? damaged(error) : error
  }
  if (sum !== entry.crc32 || total !== entry.uncompressedSize) throw damaged()
}

function refuseUnreadable(entry: Entry): void {
  if (entry.isEncrypted()) {
    throw new IntakeError(
      'unprocessable',
      'The ZIP file is protected by a password; pack it again without one.',
    )
  }
  if (entry.compressionMethod !== 0 && entry.compressionMethod !== 8) {
    throw new IntakeError(
      'unprocessable',
      'The ZIP file is packed in a way that is not read; pack it again as a plain ZIP file.',
    )
  }
  const swelling =
    entry.uncompressedSize > Math.max(RATIO_FREE_BYTES, entry.compressedSize * MAX_RATIO)
  if (swelling || entry.uncompressedSize > MAX_UNPACKED_BYTES) throw inflatesTooMuch()
}

async function* unpack(
  zip: ZipFile,
  entry: Entry,
  signal: AbortSignal,
): AsyncGenerator<{ chunk: Buffer; packedBytes: number }> {
  const packed = await zip.openReadStreamPromise(entry, { decodeFileData: false })
  if (entry.compressionMethod === 0) {
    let packedBytes = 0
    for await (const chunk of packed) {
      signal.throwIfAborted()
      if (!Buffer.isBuffer(chunk)) throw new Error('expected bytes')
      packedBytes += chunk.length
      yield { chunk, packedBytes }
    }
    return
  }
  const unpacker = createInflateRaw({ chunkSize: CHUNK_BYTES })
  // Failures of either end reach the reader below, through the destroyed stream.
  const flowing = pipeline(packed, unpacker, { signal }).catch(() => {})
  try {
    for await (const chunk of unpacker) yield { chunk, packedBytes: unpacker.bytesWritten }
  } finally {
    unpacker.destroy()
    packed.destroy()
    await flowing
  }
}

/**
 * Whether an error of yauzl or zlib is about the file's content; those of the disk have a system
 * code.
 */
function isFault(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof IntakeError) return false
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  return code === '' || code.startsWith('Z_') || code === 'ERR_STREAM_PREMATURE_CLOSE'
}

/** The refusal of an archive or workbook with invalid bytes. */
export function damaged(cause?: unknown): IntakeError {
  return new IntakeError(
    'unprocessable',
    'The file is damaged or cut short; open it where it was made, save it again and upload that.',
    { cause },
  )
}

function longNames(): IntakeError {
  return new IntakeError(
    'payload_too_large',
    'The names and comments of the ZIP file are over 4 MiB; pack it again with shorter ones.',
  )
}

function inflatesTooMuch(): IntakeError {
  return new IntakeError(
    'payload_too_large',
    `A file in it unpacks to more than ${MAX_RATIO} times its size or to over 4 GiB; upload it as CSV.`,
  )
}
