import { createTurns } from '@plumbline/concurrency/event-loop-turns'
import { REFUSED_FORMATS, RESULT_FORMATS } from '@plumbline/contract/results-request'
import { PROBLEMS } from '@plumbline/contract/problem'
import { openResults, type Results, type ResultsRequest } from '@plumbline/pipeline/results'
import { create } from 'content-disposition'
import type { Request, Response } from 'express'
import { admit, showBalance } from '../access.ts'
import { partWanted, type PartWanted } from '../byte-range.ts'
import type { Context } from '../context.ts'
import { createConcurrencyLimit, type ConcurrencyLimit } from '../concurrency-limit.ts'
import { headersWith, sendProblem } from '../response.ts'
import { sendStream } from '../send-stream.ts'
import { readRefusedQuery, readResultsQuery } from '../results-query.ts'
import type { Handler } from './handler.ts'
import { batchIdOf } from './path-id.ts'

/**
 * State shared by all downloads of a process, and whatever else decodes chunks: their limit for each
 * account, and a wait before each piece, so that other calls are not delayed.
 */
export interface Downloads {
  readonly limit: ConcurrencyLimit
  readonly turn: () => Promise<void>
}

/**
 * Iterations of the event loop from one turn of downloads to the next. Each accepts one connection
 * (libuv, since 1.45): with a turn in each of them, a client after a hundred others would wait for a
 * hundred turns.
 */
const ROUNDS_A_TURN = 8

/** Makes the state that downloads share. */
export function createDownloads(ctx: Context): Downloads {
  const limit = createConcurrencyLimit(
    ctx.settings.DOWNLOADS_LIMIT,
    (count) => `The account has ${count} downloads of results under way; wait until one ends.`,
  )
  return { limit, turn: createTurns(ROUNDS_A_TURN) }
}

/**
 * `GET /v1/batches/{id}/results`: the result file, or the rows known so far (decisions 34 and 35).
 */
export function readResults(ctx: Context, downloads: Downloads): Handler {
  return async (req, res) => {
    await download(ctx, downloads, req, res, () => readResultsQuery(req, RESULT_FORMATS))
  }
}

/** `GET /v1/batches/{id}/refused`: the refused rows, each with its error. */
export function readRefused(ctx: Context, downloads: Downloads): Handler {
  return async (req, res) => {
    await download(ctx, downloads, req, res, () => readRefusedQuery(req, REFUSED_FORMATS))
  }
}

async function download(
  ctx: Context,
  { limit, turn }: Downloads,
  req: Request,
  res: Response,
  readRequest: () => ResultsRequest,
): Promise<void> {
  const owner = await admit(ctx.access, req, res, { spends: false, hasOwnLimit: true })
  const id = batchIdOf(req)
  const request = readRequest()
  using _ = limit.acquire(owner.accountId)
  // Before the file is opened: an error in between would leave it open.
  await showBalance(ctx.access, res)
  let part: PartWanted = { kind: 'whole' }
  const results = await openResults(
    ctx.pipeline,
    owner,
    id,
    {
      ...request,
      partOf: ({ bytes, sha256 }) => {
        part = partWanted(req.headers, { bytes, etag: etagOf(sha256) }, req.method)
        return partOf(part)
      },
    },
    turn,
  )
  // A file that is gone has no parts.
  await send(ctx, req, res, results, results.finished === undefined ? { kind: 'whole' } : part)
}

function partOf(part: PartWanted) {
  switch (part.kind) {
    case 'whole':
      return null
    case 'part':
      return part.range
    case 'unchanged':
    case 'outside':
      return 'none'
  }
}

async function send(
  ctx: Context,
  req: Request,
  res: Response,
  results: Results,
  part: PartWanted,
): Promise<void> {
  const { stream, finished } = results
  if (part.kind === 'outside' && finished !== undefined) {
    stream.destroy()
    const message = `The file has ${finished.bytes} bytes, and none of the range asked for.`
    const extra = ['Content-Range', `bytes */${finished.bytes}`]
    sendProblem(res, { code: 'range_not_satisfiable', message }, extra)
    return
  }
  res.writeHead(statusOf(part), headersOf(res, results, part))
  if (part.kind === 'unchanged') {
    stream.destroy()
    res.end()
    return
  }
  await sendStream(ctx, req, res, stream)
}

function statusOf(part: PartWanted): number {
  switch (part.kind) {
    case 'whole':
      return 200
    case 'part':
      return 206
    case 'unchanged':
      return 304
    case 'outside':
      return PROBLEMS.range_not_satisfiable.status
  }
}

function headersOf(res: Response, results: Results, part: PartWanted): string[] {
  const { finished } = results
  return headersWith(res, {
    'Content-Type': results.contentType,
    'Content-Disposition': create(results.fileName, { fallback: fallbackOf(results) }),
    'X-Results-Complete': String(results.complete),
    'Accept-Ranges': finished === undefined ? 'none' : 'bytes',
    ...(finished === undefined
      ? {}
      : { ETag: etagOf(finished.sha256), ...lengthOf(finished.bytes, part) }),
  })
}

/** The name for clients without RFC 8187, where the other has more than ASCII. */
function fallbackOf({ fileName, asciiFileName }: Results): string | boolean {
  return /^[\x20-\x7e]*$/.test(fileName) || asciiFileName
}

function lengthOf(bytes: number, part: PartWanted): Readonly<Record<string, string>> {
  if (part.kind === 'unchanged') return {}
  if (part.kind !== 'part') return { 'Content-Length': String(bytes) }
  const { start, end } = part.range
  return {
    'Content-Range': `bytes ${start}-${end}/${bytes}`,
    'Content-Length': String(end - start + 1),
  }
}

function etagOf(sha256: string): string {
  return `"${sha256}"`
}
