import type { Request } from 'express'
import { isStillLetIn } from './access.ts'
import type { Context } from './context.ts'

/** How often an answer asks for its key: as the cache of keys knows a key for 0.9 s, it ends within a second. */
const KEY_EVERY_MS = 50

/**
 * Aborts an answer that takes long when the key that asked for it is revoked; one that comes again is
 * refused like any other call. Disposing of the guard ends the watch.
 */
export function abortWhenRevoked(
  ctx: Pick<Context, 'access' | 'onError'>,
  req: Request,
  gone: AbortController,
): Disposable {
  let asking = false
  const timer = setInterval(() => {
    if (asking) return
    asking = true
    isStillLetIn(ctx.access, req)
      .then((still) => {
        if (!still) gone.abort()
      })
      .catch(ctx.onError)
      .finally(() => {
        asking = false
      })
  }, KEY_EVERY_MS)
  return { [Symbol.dispose]: () => clearInterval(timer) }
}
