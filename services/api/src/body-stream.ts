import { Problem } from '@plumbline/contract/problem'
import type { Request } from 'express'
import type { IncomingHttpHeaders } from 'node:http'
import { Transform } from 'node:stream'

/** A body on its way in, apart from the connection that it comes by. */
export type BodyStream = Transform & { readonly headers: IncomingHttpHeaders }

/** Bytes a second that a sender, and a reader, must keep up. */
export const MIN_BYTES_PER_SECOND = 16 * 1_024

/** How often that is looked at in a sender. */
const LOOK_MS = 5_000

/**
 * Opens a body of at most `limitBytes`, which is asked for with each piece. It fails with `tooLarge` where more comes, and with `Problem` 400
 * where it is cut off or slower than the least rate, so that slow bodies cannot hold connections.
 * Whoever has judged it destroys it, and the connection stays whole for the answer.
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
    // Where our own writing holds it up, that may take its time.
    const ours = req.complete || counted.writableNeedDrain
    if (!ours && lately < (MIN_BYTES_PER_SECOND * LOOK_MS) / 1_000) counted.destroy(tooSlow())
    lately = 0
  }, LOOK_MS)
  const onCut = (): void => void (req.complete || counted.destroy(cutOff()))
  req.once('error', onCut).once('close', onCut)
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
