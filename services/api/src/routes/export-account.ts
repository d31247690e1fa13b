import { zipStream } from '@plumbline/pipeline/zip-stream'
import { admit, showBalance } from '../access.ts'
import type { Context } from '../context.ts'
import { exportFiles } from '../export-files.ts'
import { refuseQuery } from '../query.ts'
import { headersWith } from '../response.ts'
import { sendStream } from '../send-stream.ts'
import type { Handler } from './handler.ts'
import type { Downloads } from './read-results.ts'

/**
 * `GET /v1/export`: everything that is stored for the account as an archive, written as fast as the
 * client reads it.
 */
export function exportAccount(ctx: Context, { limit, turn }: Downloads): Handler {
  return async (req, res) => {
    const { accountId, mode } = await admit(ctx.access, req, res, {
      spends: false,
      hasOwnLimit: true,
    })
    refuseQuery(req)
    using _ = limit.acquire(accountId)
    await showBalance(ctx.access, res)
    const owner = { accountId, mode }
    const files = exportFiles({ pipeline: ctx.pipeline, owner, turn })
    res.writeHead(
      200,
      headersWith(res, {
        'Content-Type': 'application/zip',
        'Content-Disposition': `attachment; filename="${accountId}.zip"`,
      }),
    )
    await sendStream(ctx, req, res, zipStream(files))
  }
}
