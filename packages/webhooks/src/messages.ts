import { setTimeout as wait } from 'node:timers/promises'
import { Problem } from '@plumbline/contract/problem'
import type { BatchRow } from '@plumbline/db/batches/rows'
import { inTransaction, type Tx } from '@plumbline/db/database'
import { keyViewOf } from '@plumbline/db/key-view'
import { findKeyRecord } from '@plumbline/db/keys'
import {
  createDeliveries,
  deleteEvents,
  lockSubjects,
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
export async function makeMessages(pipeline: Pipeline): Promise<number> {
  return await inTransaction(pipeline.db, async (tx) => {
    const events = await takeEvents(tx, PAGE)
    if (events.length === 0) return 0
    const data = new Map<NotedEvent, object | undefined>()
    const lookups = await lockSubjects(tx, subjectsOf(events, isOfLookup))
    for (const event of events.filter(isOfLookup)) {
      data.set(event, await lookupOf(pipeline, lookups.get(event.subject)))
    }
    // After the lookups, as a batch may be started meanwhile, and before balances, as a start locks
    // the batch first.
    const locked = await lockSubjects(tx, subjectsOf(events, isOfBatch))
    const batches = await viewsOf(tx, [...locked.values()])
    const credits = new Map<string, object | undefined>()
    for (const event of events) {
      if (isOfBatch(event)) data.set(event, batches.get(event.subject))
      else if (!isOfLookup(event)) data.set(event, await dataOf(tx, event, credits))
    }
    const messages = events.flatMap((event): readonly EventMessage[] => {
      const told = data.get(event)
      // Nothing is sent about what has been erased since.
      if (told === undefined) return []
      return [{ event, body: messageBody(event.type, event.happenedAt, told) }]
    })
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

function isOfLookup({ type }: NotedEvent): boolean {
  return type === 'lookup.completed'
}

function subjectsOf(
  events: readonly NotedEvent[],
  isWanted: (event: NotedEvent) => boolean,
): readonly string[] {
  return events.filter(isWanted).map(({ subject }) => subject)
}

/** The object of an event about a key or the account; undefined if it no longer exists. */
async function dataOf(
  tx: Tx,
  event: NotedEvent,
  credits: Map<string, object | undefined>,
): Promise<object | undefined> {
  switch (event.type) {
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
  row: BatchRow | undefined,
): Promise<object | undefined> {
  if (row === undefined) return undefined
  try {
    return await readLookup(pipeline, { accountId: row.account_id, mode: row.mode }, row.id)
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
