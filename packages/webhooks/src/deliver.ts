import { setTimeout as wait } from 'node:timers/promises'
import { createBatcher, type Batcher } from '@plumbline/concurrency/batcher'
import type { Db } from '@plumbline/db/database'
import {
  keepResults,
  takeDue,
  type AttemptResult,
  type DueDelivery,
} from '@plumbline/db/webhooks/deliveries'
import type { Log } from '@plumbline/ports/log'
import { attemptDelivery, type AttemptTools } from './attempt.ts'
import { createRoom, type Room } from './room.ts'

/** What sends messages. */
export interface DeliverTools extends AttemptTools {
  readonly db: Db
  readonly log: Log
  /** An endpoint to which nothing has come through for so long is switched off. */
  readonly failingDays: number
}

/** Time between two looks for messages that are due. */
const LOOK_MS = 1_000

/** Time between two takes while there are more: each looks at all endpoints. */
const REST_MS = 25

/** Results that one statement keeps. */
const RESULTS = 200

/** How much longer than its time-out an attempt may take before another worker takes it for lost. */
const LOST_AFTER_MS = 30_000

/** Sends messages as they come due, until told to stop. */
export interface Delivery extends AsyncDisposable {
  /** There may be something new to send. */
  wake(): void
}

/**
 * Sends messages as they come due. An endpoint that is slow or fails has few of the connections, so that it
 * holds up no other. Safe in several processes at once; a message may come twice, never not at all.
 */
export function startDelivery(tools: DeliverTools): Delivery {
  const { db, log, failingDays } = tools
  const room = createRoom()
  const stop = new AbortController()
  let woken = Promise.withResolvers<void>()
  const wake = (): void => woken.resolve()
  const keep = createBatcher<AttemptResult, null>(
    async (results) => {
      await keepResults(db, results, failingDays)
      return results.map(() => null)
    },
    { maxItems: RESULTS },
  )
  const running = new Set<Promise<void>>()
  const send = (due: DueDelivery): void => {
    const sent = sendOne(tools, room, keep, due, stop.signal)
      .catch((error: unknown) => log.error({ err: error }, 'a webhook was not sent; tried again'))
      .finally(() => {
        running.delete(sent)
        wake()
      })
    running.add(sent)
  }
  const loop = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      const taken = await takeSome(tools, room).catch((error: unknown) => {
        log.error({ err: error }, 'webhooks were not read; tried again')
        return []
      })
      for (const due of taken) send(due)
      if (taken.length > 0) {
        await pause(REST_MS, stop.signal)
        continue
      }
      woken = Promise.withResolvers<void>()
      await Promise.race([woken.promise, pause(LOOK_MS, stop.signal)])
    }
  }
  const looping = loop()
  return {
    wake,
    [Symbol.asyncDispose]: async () => {
      stop.abort()
      wake()
      await looping
      await Promise.all(running)
    },
  }
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await wait(ms, undefined, { signal }).catch(() => undefined)
}

async function takeSome(
  { db, timeoutMs }: DeliverTools,
  room: Room,
): Promise<readonly DueDelivery[]> {
  const { most, each, busy } = room.left()
  if (most === 0) return []
  return await takeDue(db, { most, each, busy, lostAfterMs: timeoutMs + LOST_AFTER_MS })
}

async function sendOne(
  tools: DeliverTools,
  room: Room,
  keep: Batcher<AttemptResult, null>,
  due: DueDelivery,
  signal: AbortSignal,
): Promise<void> {
  const leave = room.enter(due.endpointId)
  let arrived = false
  try {
    const result = await attemptDelivery(tools, due, signal)
    // Cut by our own stop: it says nothing of the endpoint, and the message comes up again by itself.
    if (signal.aborted && result.status !== 'delivered') return
    arrived = result.status === 'delivered'
    await keep(result)
  } finally {
    leave(arrived)
  }
}
