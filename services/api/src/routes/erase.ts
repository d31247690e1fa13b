import { isAtLeast } from '@plumbline/contract/app/roles'
import {
  ERASE_BODY_BYTES,
  ERASED_VALUES_MAX,
  ERASURE_PAGE,
  eraseRequest,
} from '@plumbline/contract/erasure'
import { Problem } from '@plumbline/contract/problem'
import { readBody } from '@plumbline/contract/read-body'
import {
  beginErasure,
  listErasures as pageOf,
  noSuchErasure,
  readErasure as read,
} from '@plumbline/pipeline/erasure'
import type { Request } from 'express'
import { admit, showBalance } from '../access.ts'
import { readAdmittedJson } from '../admitted-json.ts'
import type { Context } from '../context.ts'
import { refuseKeyShape } from '../idempotency-key.ts'
import { withIdempotency } from '../idempotency.ts'
import { readQuery, refuseQuery } from '../query.ts'
import type { Caller } from '../request-context.ts'
import { jsonResponse, sendResponse, type JsonResponse } from '../response.ts'
import type { Handler } from './handler.ts'

/** `POST /v1/erase`: begins to erase values from everything that is stored for the account. */
export function erase(ctx: Context): Handler {
  return async (req, res) => {
    const owner = await admit(ctx.access, req, res, { spends: false })
    refuseOthers(owner)
    refuseKeyShape(req)
    refuseQuery(req)
    const wanted = readBody(
      eraseRequest,
      await readAdmittedJson(ctx.access, req, res, boundsOf(ctx)),
    )
    const response = await withIdempotency(
      ctx.idempotency,
      req,
      res,
      () => wanted,
      async ({ keep }) => {
        let shown: JsonResponse | undefined
        const { accountId, mode } = owner
        await beginErasure(ctx.pipeline, { accountId, mode }, wanted, async (tx, view) => {
          shown = jsonResponse(202, view, `/v1/erase/${view.id}`)
          await keep?.(tx, shown)
        })
        if (shown === undefined) throw new Error('an erasure was begun without a response')
        return shown
      },
    )
    await showBalance(ctx.access, res)
    sendResponse(res, response)
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
    const { default: fallback, max } = ERASURE_PAGE
    const page = await pageOf(ctx.pipeline, owner, {
      limit: query.wholeNumber('limit', { fallback, min: 1, max }),
      cursor: query.text('cursor', ERASURE_ID),
    })
    await showBalance(ctx.access, res)
    sendResponse(res, jsonResponse(200, page))
  }
}

/** `GET /v1/erase/{id}`: the receipt of an erasure. */
export function readErasure(ctx: Context): Handler {
  return async (req, res) => {
    const owner = await admit(ctx.access, req, res, { spends: false })
    refuseQuery(req)
    const view = await read(ctx.pipeline, owner, erasureIdOf(req))
    await showBalance(ctx.access, res)
    sendResponse(res, jsonResponse(200, view))
  }
}

/** Form of an erasure's id. */
const ERASURE_ID = /^ers_[A-Za-z0-9]{1,60}$/

function erasureIdOf(req: Request): string {
  const { id } = req.params
  if (typeof id === 'string' && ERASURE_ID.test(id)) return id
  throw noSuchErasure()
}
