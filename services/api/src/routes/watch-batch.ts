import { watchBatch as changesOf } from '@plumbline/pipeline/read'
import type { Response } from 'express'
import { admit, showBalance } from '../admit.ts'
import type { Context } from '../context.ts'
import { exchangeOf } from '../exchange.ts'
import { headersWith } from '../reply.ts'
import { batchIdOf } from './batch-id.ts'
import type { Handler } from './handler.ts'

/** A line that only says that the stream lives; proxies close what is silent for a minute. */
const ALIVE = ': alive\n\n'
const ALIVE_EVERY_MS = 15_000

/**
 * `GET /v1/batches/{id}/events`: the batch as an event `batch` each time it changes, and `end` when it
 * has stopped (WHATWG HTML 9.2, server-sent events).
 */
export function watchBatch(ctx: Context): Handler {
  return async (req, res) => {
    const owner = await admit(ctx.gate, req, res, { spends: false })
    const gone = new AbortController()
    res.once('close', () => gone.abort())
    const changes = changesOf(ctx.pipeline, owner, batchIdOf(req), {
      signal: AbortSignal.any([gone.signal, ctx.stopping]),
      everyMs: ctx.settings.EVENTS_EVERY_MS,
    })
    // The first comes before the headers, so that an unknown batch is a 404 and not a broken stream.
    let next = await changes.next()
    await openStream(ctx, res)
    const heart = setInterval(() => res.write(ALIVE), ALIVE_EVERY_MS)
    try {
      let number = 0
      while (next.done !== true) {
        number += 1
        await write(res, `id: ${number}\nevent: batch\ndata: ${JSON.stringify(next.value)}\n\n`)
        next = await changes.next()
      }
      if (!ctx.stopping.aborted) await write(res, 'event: end\ndata: {}\n\n')
    } finally {
      clearInterval(heart)
      res.end()
    }
  }
}

async function openStream(ctx: Context, res: Response): Promise<void> {
  await showBalance(ctx.gate, res)
  const headers = headersWith(exchangeOf(res), {
    'Content-Type': 'text/event-stream; charset=utf-8',
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    // Proxies that gather would hold events back.
    'X-Accel-Buffering': 'no',
  })
  res.writeHead(200, headers)
  res.flushHeaders()
}

/** Waits where the client reads slower than the batch changes; a client that is gone ends the wait. */
async function write(res: Response, text: string): Promise<void> {
  if (res.destroyed || res.write(text)) return
  await new Promise<void>((resolve) => {
    const done = (): void => {
      res.off('drain', done).off('close', done)
      resolve()
    }
    res.on('drain', done).on('close', done)
  })
}
