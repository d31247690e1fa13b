import type { Request, Response } from 'express'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Context } from './context.ts'
import { abortWhenRevoked } from './key-revocation.ts'
import { isGone } from './response.ts'

/**
 * Sends the body of a response whose head was sent, as fast as the client reads it, until the key or
 * session of the request ends; a `HEAD` gets none.
 */
export async function sendStream(
  ctx: Pick<Context, 'access' | 'onError'>,
  req: Request,
  res: Response,
  stream: Readable,
): Promise<void> {
  if (req.method === 'HEAD') {
    stream.destroy()
    res.end()
    return
  }
  const revoked = new AbortController()
  using _ = abortWhenRevoked(ctx, req, res, revoked)
  try {
    await pipeline(stream, res, { signal: revoked.signal })
  } catch (error) {
    if (!revoked.signal.aborted && !isGone(error, res)) throw error
  }
}
