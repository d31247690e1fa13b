import { setTimeout as wait } from 'node:timers/promises'
import { Problem } from '@plumbline/contract/problem'
import { readBatch, readBatches } from '@plumbline/db/batches/rows'
import { inTransaction } from '@plumbline/db/database'
import { keyViewOf } from '@plumbline/db/key-view'
import { findKeyRecord } from '@plumbline/db/keys'
import {
  createDeliveries,
  deleteEvents,
  takeEvents,
  type EventMessage,
  type NotedEvent,
} from '@plumbline/db/webhooks/events'
import { readBalance } from '@plumbline/metering/balance'
import { readLookup } from '@plumbline/pipeline/lookup'
import type { Pipeline } from '@plumbline/pipeline/pipeline'
import { viewsOf } from '@plumbline/pipeline/read'
import { messageBody } from './view.ts'

/** Events that one transaction turns into messages at most. */
const PAGE = 200

/** Milliseconds between two checks for events. */
const POLL_MS = 1_000

/**
 * Creates a message of each event for each subscribed endpoint, until the signal aborts; `data` is
 * the state at that time. Safe in several processes at once.
 *
 * @param made called when there are new messages
 */
export async function runMessages(
  pipeline: Pipeline,
  made: () => void,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const count = await makeMessages(pipeline).catch((error: unknown) => {
      pipeline.log.error({ err: error }, 'webhook messages could not be created; tried again')
      return 0
    })
    if (count > 0) made()
    if (count < PAGE) await wait(POLL_MS, undefined, { signal }).catch(() => undefined)
  }
}

/** Creates the messages of the oldest events; returns how many events there were. */
async function makeMessages(pipeline: Pipeline): Promise<number> {
  return await inTransaction(pipeline.db, async (tx) => {
    const events = await takeEvents(tx, PAGE)
    if (events.length === 0) return 0
    const batchIds = events.filter(isOfBatch).map(({ subject }) => subject)
    const batches = await viewsOf(tx, await readBatches(tx, batchIds))
    const messages: EventMessage[] = []
    const credits = new Map<string, object | undefined>()
    for (const event of events) {
      const data = batches.get(event.subject) ?? (await dataOf(pipeline, tx, event, credits))
      // Nothing is sent about what has been erased since.
      if (data === undefined) continue
      messages.push({ event, body: messageBody(event.type, event.happenedAt, data) })
    }
    await createDeliveries(tx, messages)
    await deleteEvents(
      tx,
      events.map(({ id }) => id),
    )
    return events.length
  })
}

function isOfBatch({ type }: NotedEvent): boolean {
  return type.startsWith('batch.')
}

type Tx = Parameters<typeof takeEvents>[0]

/** The object of an event, except batches; undefined if it no longer exists. */
async function dataOf(
  pipeline: Pipeline,
  tx: Tx,
  event: NotedEvent,
  credits: Map<string, object | undefined>,
): Promise<object | undefined> {
  switch (event.type) {
    case 'lookup.completed':
      return await lookupOf(pipeline, event)
    case 'key.replaced':
      return await keyOf(tx, event)
    case 'credits.low':
    case 'credits.exhausted':
      // Events of one account come together: its balance is read once.
      if (!credits.has(event.accountId)) credits.set(event.accountId, await creditsOf(tx, event))
      return credits.get(event.accountId)
    default:
      return undefined
  }
}

async function lookupOf(
  pipeline: Pipeline,
  { accountId, subject }: NotedEvent,
): Promise<object | undefined> {
  const row = await readBatch(pipeline.db, subject)
  if (row === undefined) return undefined
  try {
    return await readLookup(pipeline, { accountId, mode: row.mode }, subject)
  } catch (error) {
    if (error instanceof Problem && error.code === 'not_found') return undefined
    throw error
  }
}

async function keyOf(tx: Tx, { accountId, subject }: NotedEvent): Promise<object | undefined> {
  const key = await findKeyRecord(tx, accountId, subject)
  return key === undefined ? undefined : keyViewOf(key)
}

/**
 * The part of `GET /v1/account` that has changed; limits have not, and are known to the API alone.
 */
async function creditsOf(tx: Tx, { accountId }: NotedEvent): Promise<object | undefined> {
  const balance = await readBalance(tx, accountId)
  if (balance === undefined) return undefined
  const { plan, allowance, packs, held, resetsAt } = balance
  return { plan, credits: { allowance, packs, held, resets_at: resetsAt.toISOString() } }
}
