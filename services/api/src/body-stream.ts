import { Problem } from '@plumbline/contract/problem'
import type { Request } from 'express'
import type { IncomingHttpHeaders } from 'node:http'
import { Transform } from 'node:stream'

/** A request body as a stream of its own: destroying it leaves the connection open. */
export type BodyStream = Transform & { readonly headers: IncomingHttpHeaders }

/** Least rate, in bytes a second, at which a client must send a body and read a response. */
export const MIN_BYTES_PER_SECOND = 16 * 1_024

/** Milliseconds between two checks of a sender's rate. */
const CHECK_MS = 5_000

/**
 * Opens a body of at most `limitBytes()`, which is called for each chunk. The stream fails with
 * `tooLarge` if the body is longer, and with `Problem` 400 if it is incomplete or slower than the
 * least rate, so that slow senders cannot hold connections. The caller destroys it, and the
 * connection stays usable for the response.
 */
export function openBodyStream(
  req: Request,
  limitBytes: () => number,
  tooLarge: () => Problem,
): BodyStream {
  let total = 0
  let lately = 0
  const counted = new Transform({
    transform: (chunk: Buffer, _encoding, next) => {
      total += chunk.length
      lately += chunk.length
      if (total > limitBytes()) next(tooLarge())
      else next(null, chunk)
    },
  })
  const look = setInterval(() => {
    // A sender is not slow while our own disk is.
    const ours = req.complete || counted.writableNeedDrain
    if (!ours && lately < (MIN_BYTES_PER_SECOND * CHECK_MS) / 1_000) counted.destroy(tooSlow())
    lately = 0
  }, CHECK_MS)
  // Also of a request that was received whole: what is not read by then is lost.
  const onCut = (): void => void (req.readableEnded || counted.destroy(cutOff()))
  req.once('error', onCut).once('close', onCut)
  // Whoever reads it gets the error; it may come before that.
  counted.on('error', () => undefined)
  // The client may have left before.
  if (req.destroyed) onCut()
  counted.once('close', () => {
    clearInterval(look)
    req.off('error', onCut).off('close', onCut)
  })
  return Object.assign(req.pipe(counted), { headers: req.headers })
}

function tooSlow(): Problem {
  return new Problem(
    'bad_request',
    `The body came slower than ${MIN_BYTES_PER_SECOND} bytes a second; send it in one go.`,
  )
}

function cutOff(): Problem {
  return new Problem('bad_request', 'The body was cut off; send it whole.')
}
