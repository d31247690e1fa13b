import { readBody } from '@plumbline/contract/read-body'
import type { Tx } from '@plumbline/db/database'
import type { Request, Response } from 'express'
import type { z } from 'zod'
import { showBalance } from '../access.ts'
import { readAdmittedJson } from '../admitted-json.ts'
import type { Context } from '../context.ts'
import { withIdempotency } from '../idempotency.ts'
import { refuseKeyShape } from '../idempotency-key.ts'
import { refuseQuery } from '../query.ts'
import { sendResponse, type JsonResponse } from '../response.ts'

/** A POST that creates or changes something, once for each idempotency key. */
export interface OncePosted<View> {
  /** Data by which repeats are compared, besides key, account and path. */
  readonly sameAs?: object
  /** Does the work, and calls `show` with the result in the same transaction. */
  readonly work: (show: (tx: Tx, view: View) => Promise<void>) => Promise<unknown>
  readonly respond: (view: View) => JsonResponse
  /** Id of the batch with which the stored response is erased; absent if it shows none. */
  readonly batchOf?: (view: View) => string
  /** Whether the work is allowed with a balance of zero. */
  readonly isFree?: boolean
}

/**
 * Parses the JSON body of such a request, whose other faults are refused before it is read.
 *
 * @param settings limits of the body
 * @param judge called with the body before it is compared with the shape
 */
export async function readOnceBody<T extends z.ZodObject>(
  ctx: Context,
  req: Request,
  res: Response,
  shape: T,
  {
    settings = ctx.settings,
    judge,
  }: { settings?: Context['settings']; judge?: (body: unknown) => void } = {},
): Promise<z.infer<T>> {
  refuseKeyShape(req)
  refuseQuery(req)
  const body = await readAdmittedJson(ctx.access, req, res, settings)
  judge?.(body)
  return readBody(shape, body)
}

/** Does the work of a POST once for each idempotency key, and responds with its result. */
export async function respondOnce<View>(
  ctx: Context,
  req: Request,
  res: Response,
  { sameAs = [], work, respond, batchOf, isFree = false }: OncePosted<View>,
): Promise<void> {
  refuseKeyShape(req)
  refuseQuery(req)
  const response = await withIdempotency(
    ctx.idempotency,
    req,
    res,
    () => sameAs,
    async ({ keep }) => {
      let shown: JsonResponse | undefined
      await work(async (tx, view) => {
        shown = respond(view)
        await keep?.(tx, shown, batchOf?.(view))
      })
      if (shown === undefined) throw new Error('the work was done without a response')
      return shown
    },
    { isFree },
  )
  await showBalance(ctx.access, res)
  sendResponse(res, response)
}
