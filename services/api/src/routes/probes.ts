import type { Context } from '../context.ts'
import { checkReadiness } from '../readiness.ts'
import { jsonResponse, sendProblem, sendResponse } from '../response.ts'
import type { Handler } from './handler.ts'

/** Milliseconds for which the result of one check is reused. */
const FRESH_MS = 1_000

/** `GET /readyz`: whether calls are accepted; the reason is on the admin port only. */
export function readReadiness(ctx: Context): Handler {
  let last: { at: number; ready: Promise<boolean> } | undefined
  const check = (): Promise<boolean> => {
    if (last === undefined || performance.now() - last.at > FRESH_MS) {
      const ready = checkReadiness(ctx).then((checks) => checks.every(({ ok }) => ok))
      last = { at: performance.now(), ready }
    }
    return last.ready
  }
  return async (_req, res) => {
    if (ctx.stopping.aborted || !(await check())) {
      // Sent and not thrown: who waits for a start asks again and again, and nothing has failed.
      const message = 'The service takes no calls at the moment; ask again.'
      sendProblem(res, { code: 'unavailable', message, retryAfterSeconds: 5 })
      return
    }
    sendResponse(res, jsonResponse(200, { status: 'ready' }))
  }
}

/** `GET /healthz`: the process runs. */
export function readHealth(): Handler {
  return async (_req, res) => sendResponse(res, jsonResponse(200, { status: 'ok' }))
}
