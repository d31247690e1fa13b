import { RESULT_FILTERS, RESULT_FORMATS } from '@plumbline/contract/batch-request'
import { openResults } from '@plumbline/pipeline/results'
import type { Response } from 'express'
import { pipeline } from 'node:stream/promises'
import { admit, showBalance } from '../admit.ts'
import type { Context } from '../context.ts'
import { exchangeOf } from '../exchange.ts'
import { readQuery } from '../query.ts'
import { headersWith } from '../reply.ts'
import { batchIdOf } from './batch-id.ts'
import type { Handler } from './handler.ts'

/** `GET /v1/batches/{id}/results`: the result file, or what is done so far (decisions 34 and 35). */
export function readResults(ctx: Context): Handler {
  return async (req, res) => {
    const owner = await admit(ctx.gate, req, res, { spends: false })
    const id = batchIdOf(req)
    const query = readQuery(req, ['format', 'only', 'after', 'raw'])
    // Before the file is opened, which a fault in between would leave open.
    await showBalance(ctx.gate, res)
    const results = await openResults(ctx.pipeline, owner, id, {
      format: query.oneOf('format', RESULT_FORMATS, 'csv'),
      only: query.words('only', RESULT_FILTERS),
      raw: query.oneOf('raw', ['0', '1'], '0') === '1',
      after: query.wholeNumber('after', { fallback: 0, min: 0, max: Number.MAX_SAFE_INTEGER }),
    })
    const headers = headersWith(exchangeOf(res), {
      'Content-Type': results.contentType,
      'Content-Disposition': `attachment; filename="${results.fileName}"`,
      'X-Results-Complete': String(results.complete),
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
      ...(results.bytes === undefined ? {} : { 'Content-Length': String(results.bytes) }),
    })
    res.writeHead(200, headers)
    if (req.method === 'HEAD') {
      results.stream.destroy()
      res.end()
      return
    }
    try {
      await pipeline(results.stream, res)
    } catch (error) {
      if (!isGone(error, res)) throw error
    }
  }
}

/** A client that leaves in the middle of a file is no fault. */
function isGone(error: unknown, res: Response): boolean {
  const premature =
    error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE'
  return premature && res.destroyed
}
