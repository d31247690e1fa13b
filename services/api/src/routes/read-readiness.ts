import type { Context } from '../context.ts'
import { checkReadiness } from '../readiness.ts'
import { jsonResponse, sendProblem, sendResponse } from '../response.ts'
import type { Handler } from './handler.ts'

/** How long one look at the things behind it serves all who ask. */
const FRESH_MS = 1_000

/** `GET /readyz`: whether calls are taken; what is wrong stands on the admin port only. */
export function readReadiness(ctx: Context): Handler {
  let looked: { at: number; ready: Promise<boolean> } | undefined
  const look = (): Promise<boolean> => {
    if (looked === undefined || performance.now() - looked.at > FRESH_MS) {
      const ready = checkReadiness(ctx).then((checks) => checks.every(({ ok }) => ok))
      looked = { at: performance.now(), ready }
    }
    return looked.ready
  }
  return async (_req, res) => {
    if (ctx.stopping.aborted || !(await look())) {
      // Whoever waits for a start asks again and again: no fault to be noted.
      const message = 'The service takes no calls at the moment; ask again.'
      sendProblem(res, { code: 'unavailable', message, retryAfterSeconds: 5 })
      return
    }
    sendResponse(res, jsonResponse(200, { status: 'ready' }))
  }
}
