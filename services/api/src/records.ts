import { createBatchBodyReader } from './batch-body.ts'
import type { BatchOptions } from './batch-options.ts'
import { writeNewFile } from '@plumbline/storage/new-file'
import type { Request, Response } from 'express'
import { createHash, randomUUID, type Hash } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { openBodyStream } from './body-stream.ts'
import { jsonBounds, notUtf8, refuseLength, refuseType, tooLarge, wantBody } from './body.ts'
import type { DryRunGuard } from './dry-run.ts'
import type { IncomingFile } from './storage-quota.ts'
import type { ApiSettings } from './settings.ts'

/**
 * Records in a file of the scratch directory; `discard` removes the file unless it was moved into
 * the store.
 */
export interface Records {
  /** One JSON object a line. */
  readonly path: string
  readonly options: BatchOptions
  /** SHA-256 of the records, in hex. */
  readonly digest: string
  discard(): Promise<void>
}

/** Dependencies of reading the body of a batch. */
export interface BodyIntake {
  readonly scratchDir: string
  readonly settings: ApiSettings
  readonly file: IncomingFile
  readonly guard: DryRunGuard
}

/** Characters that one byte of a line may be escaped to: `\u0041`. */
const ESCAPED_CHARS = 6

/**
 * Writes a batch that is sent as JSON to disk, record by record as it arrives, with bounded memory.
 *
 * @throws Problem 413, 415, 402 or 400, after removing the file
 */
export async function readRecords(
  req: Request,
  res: Response,
  intake: BodyIntake,
): Promise<Records> {
  const { RECORDS_BODY_LIMIT_BYTES: limitBytes } = intake.settings
  refuseLength(req, limitBytes)
  refuseType(req)
  wantBody(req, res)
  const path = join(intake.scratchDir, `records-${randomUUID()}`)
  const discard = async (): Promise<void> => await rm(path, { force: true })
  const sum = createHash('sha256')
  const read: { options?: BatchOptions } = {}
  try {
    const body = openBodyStream(
      req,
      () => intake.guard.within(limitBytes),
      () => tooLarge(limitBytes),
    )
    await writeNewFile(path, (file) =>
      pipeline(body, (source: AsyncIterable<Buffer>) => linesOf(source, intake, sum, read), file),
    )
    if (read.options === undefined) throw new Error('a body ended before its JSON did')
    return { path, options: read.options, digest: sum.digest('hex'), discard }
  } catch (error) {
    await discard()
    throw error
  }
}

/** The lines of a body's records, in chunks about as large as those of the body. */
async function* linesOf(
  source: AsyncIterable<Buffer>,
  { settings, file, guard }: BodyIntake,
  sum: Hash,
  read: { options?: BatchOptions },
): AsyncGenerator<Buffer> {
  let lines = ''
  let longChars = 0
  const reader = createBatchBodyReader(
    {
      records: settings.RECORDS_LIMIT,
      recordChars: settings.LINE_LIMIT_BYTES * ESCAPED_CHARS,
      json: jsonBounds(settings),
    },
    {
      records: (start) => guard.begin(start),
      record: (record) => {
        const line = `${JSON.stringify(record)}\n`
        sum.update(line)
        lines += line
      },
      longRecord: (piece) => {
        sum.update(piece ?? '\n')
        if (piece === undefined) {
          lines += '\n'
          longChars = 0
          return
        }
        // A line one byte over its limit is enough: the intake of the batch refuses that record.
        const room = Math.max(0, settings.LINE_LIMIT_BYTES + 1 - longChars)
        lines += piece.slice(0, room).replaceAll(/[\r\n]/g, ' ')
        longChars += piece.length
      },
    },
  )
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  for await (const chunk of source) {
    reader.push(decoded(() => decoder.decode(chunk, { stream: true })))
    const bytes = Buffer.from(lines)
    lines = ''
    if (bytes.length === 0) continue
    await file.take(bytes.length)
    yield bytes
  }
  reader.push(decoded(() => decoder.decode()))
  read.options = reader.end()
}

function decoded(decode: () => string): string {
  try {
    return decode()
  } catch (error) {
    // The only error that a fatal decoder throws. Source: WHATWG Encoding, section 7.1.
    if (error instanceof TypeError) throw notUtf8()
    throw error
  }
}
