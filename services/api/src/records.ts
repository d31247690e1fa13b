import {
  readBatchBody,
  type BatchOptions,
  type BatchRecord,
} from '@plumbline/contract/batch-request'
import type { Request, Response } from 'express'
import { createHash, randomUUID } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { openArrival } from './arrival.ts'
import { parseJson, refuseLength, refuseType, tooLarge, wantBody } from './body.ts'

/** Records as they lie in the scratch directory; `discard` erases them where nobody took them over. */
export interface Records {
  /** One JSON object a line. */
  readonly path: string
  readonly options: BatchOptions
  /** SHA-256 of the lines, in hex. */
  readonly digest: string
  discard(): Promise<void>
}

export interface RecordsOptions {
  readonly scratchDir: string
  readonly limitBytes: number
  /** Records at most. */
  readonly records: number
}

/** Files are ours alone, and under names of our own. */
const NEW_FILE = { flags: 'wx', mode: 0o600 } as const

/**
 * Makes a reader of lists that are sent as JSON. Bodies come to disk, any number at once, and are read
 * from there one at a time: what a body of some MiB becomes in memory is many times as large.
 * The reader throws `Problem` 413, 415 or 400; whatever came of a file by then is erased.
 */
export function createRecordsReader(
  options: RecordsOptions,
): (req: Request, res: Response) => Promise<Records> {
  const { scratchDir, limitBytes } = options
  let last: Promise<unknown> = Promise.resolve()
  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = last.then(work)
    last = turn.catch(() => undefined)
    return turn
  }
  return async (req, res) => {
    refuseLength(req, limitBytes)
    refuseType(req)
    wantBody(req, res)
    const path = join(scratchDir, `records-${randomUUID()}`)
    const sent = `${path}.json`
    try {
      const body = openArrival(req, limitBytes, () => tooLarge(limitBytes))
      await pipeline(body, createWriteStream(sent, NEW_FILE))
      const read = await inTurn(() => layOut(sent, path, options))
      return { path, ...read, discard: () => rm(path, { force: true }) }
    } catch (error) {
      await rm(path, { force: true })
      throw error
    } finally {
      await rm(sent, { force: true })
    }
  }
}

async function layOut(
  sent: string,
  path: string,
  limits: Pick<RecordsOptions, 'records'>,
): Promise<Pick<Records, 'options' | 'digest'>> {
  const { options, records } = readBatchBody(parseJson(await readFile(sent)), limits)
  const sum = createHash('sha256')
  await pipeline(
    linesOf(records, (line) => sum.update(line)),
    createWriteStream(path, NEW_FILE),
  )
  return { options, digest: sum.digest('hex') }
}

function* linesOf(
  records: readonly BatchRecord[],
  passed: (line: string) => void,
): Generator<string> {
  for (const record of records) {
    const line = `${JSON.stringify(record)}\n`
    passed(line)
    yield line
  }
}
