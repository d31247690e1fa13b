import { isAtLeast } from '@plumbline/contract/app/roles'
import {
  ERASE_BODY_BYTES,
  ERASED_VALUES_MAX,
  ERASURE_PAGE,
  eraseRequest,
  type ErasureView,
} from '@plumbline/contract/erasure'
import { Problem } from '@plumbline/contract/problem'
import {
  beginErasure,
  listErasures as pageOf,
  noSuchErasure,
  readErasure as read,
} from '@plumbline/pipeline/erasure'
import { admit } from '../access.ts'
import type { Context } from '../context.ts'
import { readQuery, refuseQuery } from '../query.ts'
import { callerOf, type Caller } from '../request-context.ts'
import { jsonResponse } from '../response.ts'
import type { Handler } from './handler.ts'
import { pathIdOf } from './path-id.ts'
import { readOnceBody, respondOnce } from './respond-once.ts'
import { sendView } from './send-view.ts'

/** `POST /v1/erase`: begins to erase values from everything that is stored for the account. */
export function erase(ctx: Context): Handler {
  return async (req, res) => {
    refuseOthers(await admit(ctx.access, req, res, { spends: false }))
    const wanted = await readOnceBody(ctx, req, res, eraseRequest, { settings: boundsOf(ctx) })
    // The role may have changed before the body came.
    const owner = callerOf(res)
    refuseOthers(owner)
    const { accountId, mode } = owner
    await respondOnce<ErasureView>(ctx, req, res, {
      sameAs: wanted,
      work: (show) => beginErasure(ctx.pipeline, { accountId, mode }, wanted, show),
      respond: (view) => jsonResponse(202, view, `/v1/erase/${view.id}`),
    })
  }
}

/** Refuses users who are not owners, since an erasure cannot be undone. */
function refuseOthers({ role }: Caller): void {
  if (role === undefined || isAtLeast(role, 'owner')) return
  throw new Problem('forbidden', 'Only an owner of the account may erase values; ask one of them.')
}

/** Keys of the body besides its values. */
const KEYS = 100

/** Limits of the body, which with ten thousand values exceeds those of other bodies. */
function boundsOf({ settings }: Context): Context['settings'] {
  return {
    ...settings,
    BODY_LIMIT_BYTES: Math.max(settings.BODY_LIMIT_BYTES, ERASE_BODY_BYTES),
    JSON_KEYS_LIMIT: Math.max(settings.JSON_KEYS_LIMIT, ERASED_VALUES_MAX + KEYS),
  }
}

/** `GET /v1/erase`: receipts of erasures, newest first, page by page. */
export function listErasures(ctx: Context): Handler {
  return async (req, res) => {
    const owner = await admit(ctx.access, req, res, { spends: false })
    const query = readQuery(req, ['limit', 'cursor'])
    const page = await pageOf(ctx.pipeline, owner, {
      limit: query.limit(ERASURE_PAGE),
      cursor: query.text('cursor', /^ers_[A-Za-z0-9]{1,60}$/),
    })
    await sendView(ctx, res, page)
  }
}

/** `GET /v1/erase/{id}`: the receipt of an erasure. */
export function readErasure(ctx: Context): Handler {
  return async (req, res) => {
    const owner = await admit(ctx.access, req, res, { spends: false })
    refuseQuery(req)
    const view = await read(ctx.pipeline, owner, pathIdOf(req, 'ers', noSuchErasure))
    await sendView(ctx, res, view)
  }
}
