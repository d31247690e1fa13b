import { shareReads, watchBatch as changesOf, type BatchReader } from '@plumbline/pipeline/read'
import type { Response } from 'express'
import { admit, showBalance } from '../access.ts'
import { clientGone } from '../client-gone.ts'
import type { Context } from '../context.ts'
import { abortWhenRevoked } from '../key-revocation.ts'
import { createConcurrencyLimit } from '../concurrency-limit.ts'
import { headersWith } from '../response.ts'
import type { Handler } from './handler.ts'
import { batchIdOf } from './path-id.ts'

/** A comment that keeps the stream open: proxies close a connection that is silent for a minute. */
const ALIVE = ': alive\n\n'
const ALIVE_EVERY_MS = 15_000

/**
 * `GET /v1/batches/{id}/events`: the batch as an event `batch` each time it changes, and `end` when
 * it has stopped (WHATWG HTML 9.2, server-sent events).
 */
export function watchBatch(ctx: Context, read: BatchReader): Handler {
  const { EVENTS_EVERY_MS: everyMs, EVENT_STREAMS_LIMIT: most } = ctx.settings
  const look = shareReads(read, everyMs)
  const streams = createConcurrencyLimit(
    most,
    (count) => `The account has ${count} streams of events open; close one first.`,
  )
  return async (req, res) => {
    const owner = await admit(ctx.access, req, res, { spends: false, hasOwnLimit: true })
    await using stack = new AsyncDisposableStack()
    stack.use(streams.acquire(owner.accountId))
    const gone = clientGone(res)
    const signal = AbortSignal.any([gone.signal, ctx.stopping])
    const changes = changesOf(look, owner, batchIdOf(req), { signal, everyMs })
    // The first state is read before the headers are sent, so that an unknown batch gets 404.
    let next = await changes.next()
    await openStream(ctx, res)
    if (req.method === 'HEAD') {
      res.end()
      return
    }
    const keepAlive = setInterval(() => res.write(ALIVE), ALIVE_EVERY_MS)
    stack.use(abortWhenRevoked(ctx, req, res, gone))
    try {
      let number = 0
      while (next.done !== true) {
        number += 1
        await write(res, `id: ${number}\nevent: batch\ndata: ${JSON.stringify(next.value)}\n\n`)
        next = await changes.next()
      }
      if (!signal.aborted) await write(res, 'event: end\ndata: {}\n\n')
    } finally {
      clearInterval(keepAlive)
      res.end()
    }
  }
}

async function openStream(ctx: Context, res: Response): Promise<void> {
  await showBalance(ctx.access, res)
  const headers = headersWith(res, {
    'Content-Type': 'text/event-stream; charset=utf-8',
    // Proxies that buffer would hold events back.
    'X-Accel-Buffering': 'no',
  })
  res.writeHead(200, headers)
  res.flushHeaders()
}

/**
 * Writes text; if the client reads more slowly than the batch changes, waits until it has read or
 * closed.
 */
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
