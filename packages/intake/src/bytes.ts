import { open } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import type { UploadLimits } from './limits.ts'
import { IntakeError } from './intake-error.ts'

/** A source of bytes that can be opened repeatedly. */
export interface ByteSource {
  readonly sizeBytes: number
  /** The bytes in chunks; a chunk is valid only until the next one is requested. */
  open(signal: AbortSignal): AsyncIterable<Buffer>
}

const CHUNK_BYTES = 64 * 1024

/**
 * Beyond this many unpacked bytes, a file whose start expands to more than `MAX_RATIO` times its
 * packed size is refused as a decompression bomb. Only the start counts: later parts of a large
 * file could allow minutes of unpacking.
 */
const RATIO_FREE_BYTES = 4 * 1024 * 1024
const MAX_RATIO = 120

/**
 * The bytes of a file on disk.
 *
 * @throws the file system's error if it cannot be opened
 */
export async function fileSource(path: string): Promise<ByteSource> {
  await using handle = await open(path, 'r')
  const { size } = await handle.stat()
  return { sizeBytes: size, open: (signal) => readFile(path, signal) }
}

async function* readFile(path: string, signal: AbortSignal): AsyncGenerator<Buffer> {
  await using handle = await open(path, 'r')
  const buffer = Buffer.allocUnsafeSlow(CHUNK_BYTES)
  for (let position = 0; ;) {
    signal.throwIfAborted()
    const { bytesRead } = await handle.read(buffer, 0, CHUNK_BYTES, position)
    if (bytesRead === 0) return
    position += bytesRead
    yield buffer.subarray(0, bytesRead)
  }
}

/** Whether bytes begin as gzip does. Source: RFC 1952, section 2.3.1. */
export function isGzip(start: Buffer): boolean {
  return start[0] === 0x1f && start[1] === 0x8b
}

/**
 * The unpacked bytes of a file, with limits on their number and on the expansion ratio.
 *
 * @throws IntakeError `payload_too_large` beyond a limit, `unprocessable` on damaged gzip data
 */
export async function* unpackedBytes(
  source: ByteSource,
  gzip: boolean,
  limits: UploadLimits,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  if (!gzip) {
    yield* source.open(signal)
    return
  }
  let total = 0
  for await (const { chunk, packedBytes } of gunzip(source.open(signal), signal)) {
    total += chunk.length
    if (total > limits.uploadBytes) throw tooLarge('unpacked file', limits.uploadBytes)
    if (total > Math.max(RATIO_FREE_BYTES, packedBytes * MAX_RATIO)) {
      throw new IntakeError(
        'payload_too_large',
        `The file unpacks to more than ${MAX_RATIO} times its size; upload it unpacked.`,
      )
    }
    yield chunk
  }
}

async function* gunzip(
  packed: AsyncIterable<Buffer>,
  signal: AbortSignal,
): AsyncGenerator<{ chunk: Buffer; packedBytes: number }> {
  const unpacker = createGunzip({ chunkSize: CHUNK_BYTES })
  // Failures of either end reach the reader below, through the destroyed stream.
  const flowing = pipeline(Readable.from(copies(packed)), unpacker, { signal }).catch(() => {})
  try {
    for await (const chunk of unpacker) yield { chunk, packedBytes: unpacker.bytesWritten }
  } catch (error) {
    signal.throwIfAborted()
    if (isZlibError(error)) {
      throw new IntakeError(
        'unprocessable',
        'The gzip file is damaged or cut short; pack it again.',
        { cause: error },
      )
    }
    throw error
  } finally {
    unpacker.destroy()
    await flowing
  }
}

/** Copies chunks so that they stay valid: a source reuses its buffer for the next one. */
async function* copies(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) yield Buffer.from(chunk)
}

function isZlibError(error: unknown): boolean {
  return (
    error instanceof Error &&
    'code' in error &&
    typeof error.code === 'string' &&
    (error.code.startsWith('Z_') || error.code === 'ERR_BUFFER_TOO_LARGE')
  )
}

/** The refusal of a file over the limit. */
export function tooLarge(what: 'file' | 'unpacked file', limit: number): IntakeError {
  return new IntakeError('payload_too_large', `The ${what} is over ${limit} bytes; split the file.`)
}
