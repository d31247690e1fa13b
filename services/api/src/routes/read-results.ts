import { RESULT_FILTERS, RESULT_FORMATS } from '@plumbline/contract/batch-request'
import { Problem } from '@plumbline/contract/problem'
import { openResults, type Results } from '@plumbline/pipeline/results'
import type { Request, Response } from 'express'
import { pipeline } from 'node:stream/promises'
import { admit, showBalance } from '../access.ts'
import type { Context } from '../context.ts'
import { requestContextOf } from '../request-context.ts'
import { abortWhenRevoked } from '../key-revocation.ts'
import { createConcurrencyLimit } from '../concurrency-limit.ts'
import { readQuery } from '../query.ts'
import { headersWith, isGone } from '../response.ts'
import { createTurns } from '../event-loop-turns.ts'
import { batchIdOf } from './batch-id.ts'
import type { Handler } from './handler.ts'

/**
 * `GET /v1/batches/{id}/results`: the result file, or the rows that are done so far (decisions 34 and 35). An
 * account's concurrent downloads are limited, and all downloads take turns on the event loop with other calls.
 */
export function readResults(ctx: Context): Handler {
  const downloads = createConcurrencyLimit(ctx.settings.DOWNLOADS_LIMIT, tooManyDownloads)
  const turn = createTurns()
  return async (req, res) => {
    const owner = await admit(ctx.access, req, res, { spends: false })
    const id = batchIdOf(req)
    const query = readQuery(req, ['format', 'only', 'after', 'raw'])
    using stack = new DisposableStack()
    stack.use(downloads.acquire(owner.accountId))
    // Before the file is opened: an error in between would leave it open.
    await showBalance(ctx.access, res)
    const request = {
      format: query.oneOf('format', RESULT_FORMATS, 'csv'),
      only: query.words('only', RESULT_FILTERS),
      raw: query.oneOf('raw', ['0', '1'], '0') === '1',
      after: query.wholeNumber('after', { fallback: 0, min: 0, max: Number.MAX_SAFE_INTEGER }),
    }
    const results = await openResults(ctx.pipeline, owner, id, request, turn)
    res.writeHead(200, headersOf(res, results))
    if (req.method === 'HEAD') {
      results.stream.destroy()
      res.end()
      return
    }
    await send(ctx, req, res, results)
  }
}

/** Seconds after which a client may see whether a download of its account has ended. */
const RETRY_SECONDS = 5

function tooManyDownloads(current: number): Problem {
  return new Problem(
    'too_many_requests',
    `The account has ${current} downloads of results under way; wait until one ends.`,
    { retryAfterSeconds: RETRY_SECONDS },
  )
}

function headersOf(res: Response, results: Results): string[] {
  return headersWith(requestContextOf(res), {
    'Content-Type': results.contentType,
    'Content-Disposition': `attachment; filename="${results.fileName}"`,
    'X-Results-Complete': String(results.complete),
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    ...(results.bytes === undefined ? {} : { 'Content-Length': String(results.bytes) }),
  })
}

/** Sends the file as fast as the client reads it, and cuts it where the key is revoked. */
async function send(ctx: Context, req: Request, res: Response, results: Results): Promise<void> {
  const revoked = new AbortController()
  using _ = abortWhenRevoked(ctx, req, revoked)
  try {
    await pipeline(results.stream, res, { signal: revoked.signal })
  } catch (error) {
    if (!revoked.signal.aborted && !isGone(error, res)) throw error
  }
}
