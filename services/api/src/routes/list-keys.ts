import type { KeyList } from '@plumbline/contract/keys'
import { keyViewOf } from '@plumbline/db/key-view'
import { listKeys as keysOf } from '@plumbline/db/keys'
import { admit } from '../access.ts'
import type { Context } from '../context.ts'
import { refuseQuery } from '../query.ts'
import type { Handler } from './handler.ts'
import { sendView } from './send-view.ts'

/** `GET /v1/keys`: the keys that the account has had, newest first; never the keys themselves. */
export function listKeys(ctx: Context): Handler {
  return async (req, res) => {
    const { accountId } = await admit(ctx.access, req, res, { spends: false })
    refuseQuery(req)
    const keys = await keysOf(ctx.db, accountId)
    const list: KeyList = {
      data: keys.map(keyViewOf),
    }
    await sendView(ctx, res, list)
  }
}
