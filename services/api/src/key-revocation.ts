import type { Request, Response } from 'express'
import { isStillAdmitted } from './access.ts'
import type { Context } from './context.ts'

/**
 * Milliseconds between two checks of the key or session: it is cached for 0.9 s, so a response ends
 * within a second.
 */
const KEY_EVERY_MS = 50

/**
 * Aborts a long response when its request would be refused by now. Disposing of the result stops the
 * check. A check that fails is reported unless the one before failed, too: there are twenty a second.
 */
export function abortWhenRevoked(
  ctx: Pick<Context, 'access' | 'onError'>,
  req: Request,
  res: Response,
  revoked: AbortController,
): Disposable {
  let isChecking = false
  let hasFailed = false
  const timer = setInterval(() => {
    if (isChecking) return
    isChecking = true
    isStillAdmitted(ctx.access, req, res)
      .then((still) => {
        hasFailed = false
        if (!still) revoked.abort()
      })
      .catch((error: unknown) => {
        if (!hasFailed) ctx.onError(error)
        hasFailed = true
      })
      .finally(() => {
        isChecking = false
      })
  }, KEY_EVERY_MS)
  return { [Symbol.dispose]: () => clearInterval(timer) }
}
