import { COMPARISON_FORMATS } from '@plumbline/contract/comparison'
import { Problem } from '@plumbline/contract/problem'
import { openComparison } from '@plumbline/pipeline/compare'
import { admit, refuseLate, showBalance } from '../access.ts'
import type { Context } from '../context.ts'
import { readQuery } from '../query.ts'
import { headersWith } from '../response.ts'
import { sendStream } from '../send-stream.ts'
import type { Handler } from './handler.ts'
import { batchIdOf } from './path-id.ts'
import type { Downloads } from './read-results.ts'

/** `GET /v1/batches/{id}/compare?with=ID`: the changes between two batches of the same records. */
export function compareBatches(ctx: Context, { limit, turn }: Downloads): Handler {
  return async (req, res) => {
    const owner = await admit(ctx.access, req, res, { spends: false, hasOwnLimit: true })
    const query = readQuery(req, ['with', 'format', 'all'])
    const other = query.text('with', /^bat_\w{1,60}$/)
    if (other === undefined) {
      throw new Problem('bad_request', '`with` must name the batch to compare with.')
    }
    const request = {
      format: query.oneOf('format', COMPARISON_FORMATS, 'json'),
      all: query.oneOf('all', ['0', '1'], '0') === '1',
    }
    using _ = limit.acquire(owner.accountId)
    await showBalance(ctx.access, res)
    const ids = [batchIdOf(req), other] as const
    // A summary reads both batches before the response begins, and is of no use without its client.
    const turnOfClient = async (): Promise<void> => {
      if (res.destroyed) throw new ClientGone()
      await turn()
    }
    try {
      const opened = await openComparison(ctx.pipeline, owner, ids, request, turnOfClient)
      // Reading both batches may have taken minutes.
      await refuseLate(ctx.access, req, res)
      const { stream, fileName, contentType } = opened
      const kept = request.format === 'json' ? 'inline' : `attachment; filename="${fileName}"`
      const headers = headersWith(res, {
        'Content-Type': contentType,
        'Content-Disposition': kept,
      })
      res.writeHead(200, headers)
      await sendStream(ctx, req, res, stream)
    } catch (error) {
      if (!(error instanceof ClientGone)) throw error
    }
  }
}

class ClientGone extends Error {}
