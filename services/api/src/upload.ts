import { Problem } from '@plumbline/contract/problem'
import type { Request, Response } from 'express'
import multer from 'multer'
import { createHash, randomUUID } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { refuseEncoding, refuseLength, wantBody } from './body.ts'

/** A list as it lies in the scratch directory; `discard` erases it where nobody took it over. */
export interface Upload {
  readonly path: string
  /** What the client calls it: data, never part of a path. */
  readonly fileName: string
  /** SHA-256 in hex. */
  readonly digest: string
  readonly fields: ReadonlyMap<string, string>
  discard(): Promise<void>
}

export interface UploadOptions {
  readonly scratchDir: string
  readonly limitBytes: number
}

/** Room that boundaries, part headers and fields take beside the file. */
const FRAME_BYTES = 256 * 1_024

/** What of a multipart body is taken; the last two close CVE-2026-5079 and CVE-2026-82333. */
const LIMITS = {
  files: 1,
  fields: 12,
  parts: 13,
  fieldNameSize: 64,
  fieldSize: 16 * 1_024,
  headerPairs: 20,
  fieldNestingDepth: 0,
  fieldArrayIndexLimit: 0,
} as const

/** Characters of a client's file name that are kept. */
const FILE_NAME_MAX_CHARS = 255

/**
 * Reads a multipart body with one file in the part `file` to disk, under a name of our own.
 * Throws `Problem` 413 or 400; whatever came of a file by then is erased.
 */
export async function readUpload(
  req: Request,
  res: Response,
  options: UploadOptions,
): Promise<Upload> {
  const bodyLimit = options.limitBytes + FRAME_BYTES
  refuseLength(req, bodyLimit)
  refuseEncoding(req)
  const parts: Stored[] = []
  const writing = new AbortController()
  const read = multer({
    storage: diskStorage(options.scratchDir, parts, writing.signal),
    limits: { ...LIMITS, fileSize: options.limitBytes },
    defParamCharset: 'utf8',
  }).single('file')
  const arrival = watchArrival(req, bodyLimit)
  try {
    wantBody(req, res)
    const { promise: form, resolve, reject } = Promise.withResolvers<void>()
    read(req, res, (error: unknown) => (error === undefined ? resolve() : reject(refusal(error))))
    // multer answers a fault only when the whole body has come; a body without end must not hold it up.
    await Promise.race([form, arrival.tooLong])
    const [stored] = parts
    if (stored === undefined || req.file === undefined) {
      throw new Problem('bad_request', 'The list is missing; send it as the part `file`.')
    }
    return {
      path: stored.path,
      fileName: plainName(req.file.originalname),
      digest: stored.digest,
      fields: textFields(req.body),
      discard: () => rm(stored.path, { force: true }),
    }
  } catch (error) {
    writing.abort()
    await Promise.allSettled(parts.map(({ written }) => written))
    await Promise.all(parts.map(({ path }) => rm(path, { force: true })))
    throw error
  } finally {
    arrival.stop()
  }
}

/** The client's name of the file as text that can be kept and shown. */
function plainName(name: string): string {
  return name
    .slice(0, FILE_NAME_MAX_CHARS)
    .toWellFormed()
    .replaceAll(/\p{Cc}/gu, '\ufffd')
}

interface Stored {
  readonly path: string
  digest: string
  /** Settles when nothing more is written. */
  written: Promise<void>
}

/** A multer storage that writes the file and its digest in one pass, and remembers what it wrote. */
function diskStorage(
  scratchDir: string,
  parts: Stored[],
  signal: AbortSignal,
): multer.StorageEngine {
  return {
    _handleFile: (_req, file, done) => {
      const path = join(scratchDir, `upload-${randomUUID()}`)
      const sum = createHash('sha256')
      const counted = new Transform({
        transform: (chunk: Buffer, _encoding, next) => {
          sum.update(chunk)
          next(null, chunk)
        },
      })
      const target = createWriteStream(path, { flags: 'wx', mode: 0o600 })
      const written = pipeline(file.stream, counted, target, { signal })
      const stored: Stored = { path, digest: '', written }
      parts.push(stored)
      written.then(
        () => {
          stored.digest = sum.digest('hex')
          done(null, { path })
        },
        (error: unknown) => done(error),
      )
    },
    _removeFile: (_req, file, done) => {
      rm(file.path, { force: true }).then(() => done(null), done)
    },
  }
}

/** multer's body is an object without prototype; only text comes through the limits above. */
function textFields(body: unknown): ReadonlyMap<string, string> {
  const fields = new Map<string, string>()
  if (typeof body !== 'object' || body === null) return fields
  for (const [name, value] of Object.entries(body)) {
    if (typeof value !== 'string') {
      throw new Problem(
        'bad_request',
        `The field ${JSON.stringify(name)} came more than once; send it once.`,
      )
    }
    fields.set(name, value)
  }
  return fields
}

function refusal(error: unknown): unknown {
  if (error instanceof multer.MulterError) {
    switch (error.code) {
      case 'LIMIT_FILE_SIZE':
        return new Problem('payload_too_large', 'The file is larger than lists may be; split it.')
      case 'LIMIT_UNEXPECTED_FILE':
      case 'LIMIT_FILE_COUNT':
        return new Problem('bad_request', 'Send exactly one file, as the part `file`.')
      default:
        return new Problem(
          'bad_request',
          `The form is not as this endpoint takes it: ${error.message}.`,
        )
    }
  }
  if (error instanceof Error && isFaultOfForm(error)) {
    return new Problem(
      'bad_request',
      'The multipart body is malformed or was cut off; send it whole.',
    )
  }
  return error
}

/** Faults of the disk carry a system code; what is left are those of the sender and the form. */
function isFaultOfForm(error: Error): boolean {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  return code === '' || code === 'ECONNRESET' || code === 'ERR_STREAM_PREMATURE_CLOSE'
}

/** Bytes a second that a sender must keep up, and how often that is looked at. */
const MIN_BYTES_PER_SECOND = 16 * 1_024
const LOOK_MS = 5_000

interface Arrival {
  /** Rejects when more has come than a body may have. */
  readonly tooLong: Promise<never>
  stop(): void
}

/** Cuts senders that are slower than the least rate, so that slow bodies cannot hold connections. */
function watchArrival(req: Request, limitBytes: number): Arrival {
  const { promise: tooLong, reject } = Promise.withResolvers<never>()
  tooLong.catch(() => undefined)
  let total = 0
  let lately = 0
  const count = (chunk: Buffer): void => {
    total += chunk.length
    lately += chunk.length
    if (total > limitBytes) {
      reject(new Problem('payload_too_large', 'The file is larger than lists may be; split it.'))
    }
  }
  const timer = setInterval(() => {
    // What is left is our own writing, which may take its time.
    if (req.complete) clearInterval(timer)
    else if (lately < (MIN_BYTES_PER_SECOND * LOOK_MS) / 1_000) req.destroy()
    lately = 0
  }, LOOK_MS)
  req.on('data', count)
  return {
    tooLong,
    stop: () => {
      clearInterval(timer)
      req.off('data', count)
    },
  }
}
