import { setTimeout as wait } from 'node:timers/promises'
import { createBatcher, type Batcher } from '@plumbline/concurrency/batcher'
import type { Db } from '@plumbline/db/database'
import { storeAttemptResults, type AttemptResult } from '@plumbline/db/webhooks/attempt-results'
import { takeDue, type DueDelivery, type TakenDeliveries } from '@plumbline/db/webhooks/deliveries'
import type { Log } from '@plumbline/ports/log'
import { attemptDelivery, type AttemptTools } from './attempt.ts'
import { createDeliverySlots, type DeliverySlots } from './delivery-slots.ts'
import { longestRetryMs } from './retry.ts'

/** Dependencies and limits of sending messages. */
export interface DeliverTools extends AttemptTools {
  readonly db: Db
  readonly log: Log
  /** Days of failures, without success and without a pause, after which an endpoint is disabled. */
  readonly failingDays: number
}

/** Milliseconds between two checks for messages that are due. */
const POLL_MS = 1_000

/** Milliseconds between two queries while there are more messages or endpoints. */
const PAGE_PAUSE_MS = 25

/** Results stored by one statement at most. */
const RESULTS = 200

/**
 * Milliseconds after its time-out from which an attempt counts as lost, and another worker repeats
 * it.
 */
export const LOST_AFTER_MS = 30_000

/** Milliseconds by which an attempt may be late before the time without one counts as a pause. */
const LATE_MS = 3_600_000

/** Sends messages when they are due, until it is disposed of. */
export interface Delivery extends AsyncDisposable {
  /** Checks at once for new messages. */
  wake(): void
}

/**
 * Starts sending messages when they are due. A slow or failing endpoint gets few connections, so
 * that it does not delay others. Safe in several processes at once; delivery is at least once.
 */
export function startDelivery(tools: DeliverTools): Delivery {
  const { db, log, failingDays, retrySeconds } = tools
  const limits = { failingDays, pauseMs: longestRetryMs(retrySeconds) + LATE_MS }
  const slots = createDeliverySlots()
  const stop = new AbortController()
  let woken = Promise.withResolvers<void>()
  const wake = (): void => woken.resolve()
  const keep = createBatcher<AttemptResult, null>(
    async (results) => {
      await storeAttemptResults(db, results, limits)
      return results.map(() => null)
    },
    { maxItems: RESULTS },
  )
  const running = new Set<Promise<void>>()
  const send = (due: DueDelivery): void => {
    const sent = sendOne(tools, slots, keep, due, stop.signal)
      .catch((error: unknown) => log.error({ err: error }, 'a webhook was not sent; tried again'))
      .finally(() => {
        running.delete(sent)
        wake()
      })
    running.add(sent)
  }
  const loop = async (): Promise<void> => {
    let after = ''
    let hadSome = false
    while (!stop.signal.aborted) {
      const taken = await takeSome(tools, slots, after).catch((error: unknown) => {
        log.error({ err: error }, 'webhook deliveries could not be read; tried again')
        return undefined
      })
      for (const due of taken?.due ?? []) send(due)
      if (taken !== undefined) {
        after = taken.after
        hadSome ||= taken.due.length > 0
        const isMore = after !== '' || hadSome
        if (after === '') hadSome = false
        if (isMore) {
          await pause(PAGE_PAUSE_MS, stop.signal)
          continue
        }
      }
      await Promise.race([woken.promise, pause(POLL_MS, stop.signal)])
      // Only now: a wake-up during the queries may be about messages that they did not see.
      woken = Promise.withResolvers<void>()
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

/** Takes messages of the endpoints behind an id; undefined if no slot is free. */
async function takeSome(
  { db, timeoutMs }: DeliverTools,
  slots: DeliverySlots,
  after: string,
): Promise<TakenDeliveries | undefined> {
  const left = slots.left()
  if (left.most === 0) return undefined
  return await takeDue(db, { ...left, after, lostAfterMs: timeoutMs + LOST_AFTER_MS })
}

async function sendOne(
  tools: DeliverTools,
  slots: DeliverySlots,
  keep: Batcher<AttemptResult, null>,
  due: DueDelivery,
  signal: AbortSignal,
): Promise<void> {
  const leave = slots.enter(due)
  let arrived = false
  try {
    const result = await attemptDelivery(tools, due, signal)
    // Cut by our own stop: it says nothing of the endpoint, and the message comes up again by
    // itself.
    if (signal.aborted && result.status !== 'delivered') return
    arrived = result.status === 'delivered'
    await keep(result)
  } finally {
    leave(arrived)
  }
}
