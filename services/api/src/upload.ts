import { withoutBidiControls } from '@plumbline/contract/bidi-controls'
import { Problem } from '@plumbline/contract/problem'
import { isGzip } from '@plumbline/intake/bytes'
import { formatOfName, refuseBinary } from '@plumbline/intake/file-kind'
import { writeNewFile } from '@plumbline/storage/new-file'
import type { Request, Response } from 'express'
import multer from 'multer'
import { createHash, randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Transform, type TransformCallback, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { openBodyStream, type BodyStream } from './body-stream.ts'
import { refuseEncoding, refuseLength, wantBody } from './body.ts'
import type { IncomingFile } from './storage-quota.ts'
import type { BodyIntake } from './records.ts'

/**
 * An uploaded file in the scratch directory; `discard` removes it unless it was moved into the
 * store.
 */
export interface Upload {
  readonly path: string
  /** File name from the client: data, never part of a path. */
  readonly fileName: string
  /** SHA-256 in hex. */
  readonly digest: string
  readonly fields: ReadonlyMap<string, string>
  discard(): Promise<void>
}

/** Bytes of a multipart body besides the file: boundaries, part headers and fields. */
const FRAME_BYTES = 256 * 1_024

/** Limits of a multipart body; the last two close CVE-2026-5079 and CVE-2026-82333. */
const LIMITS = {
  files: 1,
  fields: 20,
  parts: 21,
  fieldNameSize: 64,
  fieldSize: 16 * 1_024,
  headerPairs: 20,
  fieldNestingDepth: 0,
  fieldArrayIndexLimit: 0,
} as const

/** Characters of a client's file name that are stored. */
const FILE_NAME_MAX_CHARS = 255

/** First bytes of a file that tell its kind: a tar archive has its signature at 257. */
const KIND_BYTES = 512

/**
 * Writes the file in the part `file` of a multipart body to disk, under a generated name. The form
 * is checked as it arrives, so that a refusal need not wait for the rest of the body.
 *
 * @throws Problem 402, 413, 415 for files of another kind by their name or first bytes, or 400,
 * after removing the file
 */
export async function readUpload(req: Request, res: Response, intake: BodyIntake): Promise<Upload> {
  const { UPLOAD_LIMIT_BYTES: limitBytes } = intake.settings
  const bodyLimit = limitBytes + FRAME_BYTES
  refuseLength(req, bodyLimit)
  refuseEncoding(req)
  const parts: Stored[] = []
  const writing = new AbortController()
  wantBody(req, res)
  const body = openBodyStream(
    req,
    () => intake.guard.within(bodyLimit),
    () => tooLarge(limitBytes),
  )
  const form = asRequest(body)
  const settings: StreamedOptions = {
    storage: diskStorage(intake, parts, writing.signal),
    limits: { ...LIMITS, fileSize: limitBytes },
    defParamCharset: 'utf8',
    streamHandler: (_form, parser) => {
      // multer leaves the parser once the form is refused, and would then wait for the rest of the
      // body.
      parser.once('unpipe', () => body.destroy())
      body.pipe(parser)
    },
  }
  const read = multer(settings).single('file')
  try {
    await new Promise<void>((resolve, reject) => {
      read(form, res, (error: unknown) =>
        error === undefined ? resolve() : reject(refusal(error, limitBytes)),
      )
    })
    const [stored] = parts
    if (stored === undefined || form.file === undefined) {
      throw new Problem('bad_request', 'The file is missing; send it as the part `file`.')
    }
    return {
      path: stored.path,
      fileName: plainName(form.file.originalname),
      digest: stored.digest,
      fields: textFields(form.body),
      discard: () => rm(stored.path, { force: true }),
    }
  } catch (error) {
    writing.abort()
    await Promise.allSettled(parts.map(({ written }) => written))
    await Promise.all(parts.map(({ path }) => rm(path, { force: true })))
    throw error
  } finally {
    body.destroy()
  }
}

/**
 * The option of multer that is missing in its published types. Source: README of multer 2.5,
 * `streamHandler`.
 */
type StreamedOptions = multer.Options & {
  readonly streamHandler: (form: Request, parser: Writable) => void
}

/** Safe because multer uses only the headers and the bytes of a request. */
function asRequest(body: BodyStream): Request {
  return body as unknown as Request
}

/** The client's name of the file, made safe to store and show. */
function plainName(name: string): string {
  return withoutBidiControls(name)
    .slice(0, FILE_NAME_MAX_CHARS)
    .toWellFormed()
    .replaceAll(/\p{Cc}/gu, '\ufffd')
}

interface Stored {
  readonly path: string
  digest: string
  /** Resolves when writing has ended. */
  written: Promise<void>
}

/** A multer storage that writes the file and hashes it in one pass, and adds it to `parts`. */
function diskStorage(
  { scratchDir, file: incoming, guard }: BodyIntake,
  parts: Stored[],
  signal: AbortSignal,
): multer.StorageEngine {
  return {
    _handleFile: (form, file, done) => {
      const refused =
        faultOf(() => guard.begin(fieldOf(form.body, 'start'))) ??
        faultOf(() => formatOfName(file.originalname))
      if (refused !== undefined) return done(refused)
      const path = join(scratchDir, `upload-${randomUUID()}`)
      const sum = createHash('sha256')
      const checkKind = createKindCheck()
      const judged = new Transform({
        transform: (chunk: Buffer, _encoding, next) => {
          sum.update(chunk)
          const fault = checkKind(chunk)
          if (fault === undefined) passWithin(incoming, chunk, next)
          else next(fault)
        },
      })
      const written = writeNewFile(path, (target) =>
        pipeline(file.stream, judged, target, { signal }),
      )
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

/** Passes bytes on if the account's quota allows them. */
function passWithin(incoming: IncomingFile, chunk: Buffer, next: TransformCallback): void {
  incoming.take(chunk.length).then(
    () => next(null, chunk),
    (error: unknown) => next(error instanceof Problem ? error : new SpaceUnknown(error)),
  )
}

/**
 * Thrown if the account's quota could not be read: a fault of ours, which must not look like one of
 * the form.
 */
class SpaceUnknown extends Error {
  constructor(cause: unknown) {
    super('the space of the account could not be counted', { cause })
  }
}

/** The value of a field that came before the file; undefined if it did not. */
function fieldOf(body: unknown, field: string): unknown {
  return typeof body === 'object' && body !== null
    ? Object.entries(body).find(([name]) => name === field)?.[1]
    : undefined
}

/**
 * Checks a file by its first bytes as they arrive; a gzipped file is checked when it is unpacked.
 */
function createKindCheck(): (chunk: Buffer) => Problem | undefined {
  let start = Buffer.alloc(0)
  return (chunk) => {
    if (start.length >= KIND_BYTES) return undefined
    start = Buffer.concat([start, chunk.subarray(0, KIND_BYTES)])
    return isGzip(start) ? undefined : faultOf(() => refuseBinary(start))
  }
}

function faultOf(judge: () => unknown): Problem | undefined {
  try {
    judge()
    return undefined
  } catch (error) {
    if (error instanceof Problem) return error
    throw error
  }
}

/**
 * The text fields of multer's body, an object without prototype; only text passes the limits above.
 */
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

function tooLarge(limitBytes: number): Problem {
  return new Problem(
    'payload_too_large',
    `The file of a batch may have at most ${limitBytes} bytes; split it.`,
  )
}

function refusal(error: unknown, limitBytes: number): unknown {
  if (error instanceof SpaceUnknown) return error.cause
  if (error instanceof multer.MulterError) {
    switch (error.code) {
      case 'LIMIT_FILE_SIZE':
        return tooLarge(limitBytes)
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

/** Whether an error is caused by the sender; errors of the disk have other codes. */
function isFaultOfForm(error: Error): boolean {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  return code === '' || code === 'ECONNRESET' || code === 'ERR_STREAM_PREMATURE_CLOSE'
}
