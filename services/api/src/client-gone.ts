import type { Response } from 'express'

/** Aborted once the client of a response has gone, or has it all. */
export function clientGone(res: Response): AbortController {
  const gone = new AbortController()
  // It may have left while the key was looked up.
  if (res.closed) gone.abort()
  else res.once('close', () => gone.abort())
  return gone
}
