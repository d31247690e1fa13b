import { BATCH_STATES } from '@plumbline/contract/batch'
import { BATCH_PAGE, BATCH_SEARCH_MAX_CHARS } from '@plumbline/contract/batch-view'
import { listBatches as pageOf } from '@plumbline/pipeline/read'
import { admit } from '../access.ts'
import type { Context } from '../context.ts'
import { readQuery } from '../query.ts'
import type { Handler } from './handler.ts'
import { sendView } from './send-view.ts'

/** `GET /v1/batches`: an account's batches, newest first, page by page. */
export function listBatches(ctx: Context): Handler {
  return async (req, res) => {
    const owner = await admit(ctx.access, req, res, { spends: false })
    const query = readQuery(req, ['limit', 'cursor', 'status', 'search'])
    const page = await pageOf(ctx.pipeline, owner, {
      limit: query.limit(BATCH_PAGE),
      cursor: query.text('cursor', /^[A-Za-z0-9_-]{1,200}$/),
      states: query.words('status', BATCH_STATES),
      search: query.phrase('search', BATCH_SEARCH_MAX_CHARS),
    })
    await sendView(ctx, res, page)
  }
}
