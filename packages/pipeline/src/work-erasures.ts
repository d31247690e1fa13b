import { setTimeout as wait } from 'node:timers/promises'
import { keepLease } from '@plumbline/concurrency/lease-renewal'
import type { ErasureCounts } from '@plumbline/contract/erasure'
import type { Json } from '@plumbline/contract/outcome'
import { unfinishedEnds } from '@plumbline/db/batches/blank'
import { eraseStep } from '@plumbline/db/batches/erase'
import { derivedSince, nextBatch } from '@plumbline/db/batches/own-batches'
import { readBatch, readBatches } from '@plumbline/db/batches/rows'
import { databaseMoment } from '@plumbline/db/clock'
import type { Db, Tx } from '@plumbline/db/database'
import {
  claimErasure,
  completeErasure,
  ErasureLost,
  noteErasure,
  renewErasure,
  postponeErasure,
  type ErasureRow,
} from '@plumbline/db/erasures'
import { removalsOf } from '@plumbline/db/file-store'
import { blankChunks, blankHead, isBeingRead, rewriteResult, type Step } from './blank-batch.ts'
import { targetOf } from './erasure.ts'
import { modesOf, type ErasureProgress } from './erasure-progress.ts'
import {
  blankDeliveries,
  emptyResponses,
  forgetFacts,
  nextValues,
  type AskedSubject,
  type FactCounts,
  type FactStores,
} from './erasure-stores.ts'
import { createValueFinder, type ErasureTarget, type ValueFinder } from './erased-values.ts'
import type { Pipeline } from './pipeline.ts'
import { removeEach } from './remove-files.ts'

/** Milliseconds between two checks for an erasure to work on. */
const POLL_MS = 5_000

/** Delay of an erasure that waits for rows to be read, or whose step failed, in milliseconds. */
const RETRY_MS = 5_000

/** Milliseconds for which an erasure is worked on before those of other accounts have a turn. */
const TURN_MS = 10_000

/** Milliseconds between two saves of the position of a search that finds nothing. */
const NOTE_MS = 2_000

/** Stores that may hold a value to erase. */
export interface ErasureStores {
  readonly pipeline: Pipeline
  readonly facts: FactStores
  /** Milliseconds of a turn; default ten seconds. */
  readonly turnMs?: number
}

/** Works on erasures, one at a time, until the signal aborts; several processes may do so. */
export async function runErasures(stores: ErasureStores, signal: AbortSignal): Promise<void> {
  const { log } = stores.pipeline
  while (!signal.aborted) {
    try {
      while (await workErasure(stores, signal)) {
        // The next one.
      }
    } catch (error) {
      if (!signal.aborted) log.warn({ err: error }, 'erasures could not be processed')
    }
    await wait(POLL_MS, undefined, { signal }).catch(() => {})
  }
}

/**
 * Works on the erasure whose turn it is until it is complete, must wait, or its turn ends, in steps
 * of one transaction each: a process that dies loses one step.
 *
 * @returns false if there is none
 */
export async function workErasure(stores: ErasureStores, stopping: AbortSignal): Promise<boolean> {
  const { pipeline } = stores
  const { db, limits, log } = pipeline
  const row = stopping.aborted ? undefined : await claimErasure(db, limits.leaseMs)
  if (row === undefined) return false
  const { leaseMs } = limits
  using lease = keepLease(() => renewErasure(db, row, leaseMs), {
    leaseMs,
    warn: (error) => log.warn({ err: error, erasure: row.id }, 'lease could not be renewed'),
  })
  try {
    const target = targetOf(pipeline.installationKey, row)
    const finder = createValueFinder(target)
    const signal = AbortSignal.any([stopping, lease.lost])
    const saves = { count: row.saves }
    const end = await runSteps({ ...stores, row, saves, target, finder, signal })
    if (end === 'done') await completeErasure(db, { ...row, saves: saves.count })
    else await postponeErasure(db, row, end === 'wait' && !stopping.aborted ? RETRY_MS : 0)
  } catch (error) {
    if (error instanceof ErasureLost || lease.lost.aborted) return true
    if (!stopping.aborted) {
      log.warn({ err: error, erasure: row.id }, 'an erasure failed; it is tried again')
    }
    await postponeErasure(db, row, stopping.aborted ? 0 : RETRY_MS)
  }
  return true
}

/** An erasure whose lease this process holds. */
interface Work extends ErasureStores {
  readonly row: ErasureRow
  /** How often the progress was stored: a step that a failover loses is missed by the next one. */
  readonly saves: { count: number }
  readonly target: ErasureTarget
  readonly finder: ValueFinder
  readonly signal: AbortSignal
}

/** Runs steps until none is left, it must wait, or its turn or the process ends. */
async function runSteps(work: Work): Promise<'done' | 'wait' | 'turn'> {
  const { turnMs = TURN_MS, signal } = work
  const beganMs = performance.now()
  let notedMs = beganMs
  let place = placeOf(work.row)
  for (;;) {
    const next = await takeStep(work, place)
    if (next === 'done' || next === 'wait') return next
    place = next
    const nowMs = performance.now()
    const isOver = signal.aborted || nowMs - beganMs >= turnMs
    if (isOver || nowMs - notedMs > NOTE_MS) {
      await note(work, work.pipeline.db, place, {})
      notedMs = nowMs
    }
    if (isOver) return 'turn'
  }
}

/**
 * Safe because only this file writes it. Progress stored by an earlier version lacks `forgetting`
 * and `readNo`.
 */
function placeOf({ place }: ErasureRow): ErasureProgress {
  const later = { forgetting: null, readNo: null }
  return { ...later, ...(place as unknown as Omit<ErasureProgress, keyof typeof later>) }
}

async function note(
  { row: { id, lease }, saves }: Work,
  tx: Tx | Db,
  place: ErasureProgress,
  counts: Partial<ErasureCounts>,
): Promise<void> {
  // Safe because the progress consists of strings, numbers, booleans and arrays of them.
  await noteErasure(tx, { id, lease, saves: saves.count }, place as unknown as Json, counts)
  saves.count += 1
}

async function takeStep(
  work: Work,
  place: ErasureProgress,
): Promise<ErasureProgress | 'done' | 'wait'> {
  switch (place.step) {
    case 'batches':
      return place.batch === null ? await beginBatch(work, place) : await runBatchStep(work, place)
    case 'again':
      return place.batch === null
        ? await beginSecondSearch(work, place)
        : await runBatchStep(work, place)
    case 'answers':
      return (
        (await passPage(work, place, 'answers')) ?? { ...place, step: 'deliveries', after: null }
      )
    case 'deliveries':
      return (await passPage(work, place, 'deliveries')) ?? { ...place, step: 'facts', after: null }
    case 'facts':
      return (await passFacts(work, place)) ?? { ...place, step: 'ends', after: null }
    case 'ends':
      return await waitForEnds(work, place)
  }
}

async function beginBatch(
  { row, pipeline }: Work,
  place: ErasureProgress,
): Promise<ErasureProgress> {
  const [mode, ...others] = place.modes
  if (mode === undefined) return { ...place, step: 'again', cursor: null }
  const owner = { accountId: row.account_id, mode }
  const next = await nextBatch(pipeline.db, owner, place.cursor)
  if (next === undefined) return { ...place, modes: others, cursor: null }
  return { ...place, cursor: next, batch: next.id, chunkNo: 0, isMet: false }
}

/**
 * Begins the second search: batches whose rows were being read, and those derived from rows before
 * they were blanked.
 */
async function beginSecondSearch(
  work: Work,
  place: ErasureProgress,
): Promise<ErasureProgress | 'wait'> {
  const { row, pipeline } = work
  const [first, ...queue] = place.queue
  if (first !== undefined) return { ...place, batch: first, queue, chunkNo: 0, isMet: false }
  const since = await databaseMoment(pipeline.db)
  const owner = { accountId: row.account_id, modes: modesOf(row.mode) }
  const derived = await derivedSince(pipeline.db, owner, place.since)
  const all = [...new Set([...place.waiting, ...derived])]
  if (all.length === 0) return { ...place, step: 'answers', after: null }
  const next = { ...place, since, waiting: [], queue: all }
  const rows = await readBatches(pipeline.db, all)
  if (!rows.every(isBeingRead)) return next
  await note(work, pipeline.db, { ...place, since, waiting: all }, {})
  return 'wait'
}

/** Runs the next step in the current batch. */
async function runBatchStep(work: Work, place: ErasureProgress): Promise<ErasureProgress> {
  const { pipeline, finder, signal } = work
  const id = place.batch ?? ''
  const after = { ...place, batch: null }
  const batch = await readBatch(pipeline.db, id)
  if (batch === undefined || batch.erasing === 'all') return after
  const later = { ...after, waiting: [...place.waiting, id] }
  const readNo = place.chunkNo === 0 ? batch.change_count : (place.readNo ?? batch.change_count)
  if (isBeingRead(batch) || batch.change_count !== readNo) return later
  let here = { ...place, readNo }
  const noteStep = async (tx: Tx, step: Step): Promise<void> => {
    const counts = { ...step.counts, batches: step.isMet && !here.isMet ? 1 : 0 }
    here = { ...here, isMet: here.isMet || step.isMet, forgetting: null }
    await note(work, tx, here, counts)
  }
  const nextNo = await blankChunks(pipeline, batch, place.chunkNo, finder, {
    forget: async (subjects) => await forgetOnce(work, place, `${id} ${place.chunkNo}`, subjects),
    note: async (tx, step, no) => {
      // The batch's row and the result come after the last chunk; another process that continues
      // here searches that chunk again.
      here = { ...here, chunkNo: no ?? place.chunkNo }
      await noteStep(tx, step)
    },
  })
  if (nextNo !== undefined) return { ...here, chunkNo: nextNo }
  if (!(await blankHead(pipeline, id, readNo, finder, noteStep))) return later
  await rewriteResult(pipeline, id, signal, noteStep)
  return { ...after, isMet: false }
}

/** Searches the next page of stored responses or webhook messages; undefined after the last. */
async function passPage(
  work: Work,
  place: ErasureProgress,
  store: 'answers' | 'deliveries',
): Promise<ErasureProgress | undefined> {
  const search = store === 'answers' ? emptyResponses : blankDeliveries
  return await search(work, place.after, async (tx, after, count) => {
    const next = { ...place, after }
    await note(work, tx, next, { [store]: count })
    return next
  })
}

async function passFacts(work: Work, place: ErasureProgress): Promise<ErasureProgress | undefined> {
  const from = Number(place.after?.[0] ?? 0)
  const { next, subjects } = nextValues(work.target, from)
  if (subjects.length === 0) return undefined
  const counts = await forgetOnce(work, place, `values ${from}`, subjects)
  const there = { ...place, after: [String(next)], forgetting: null }
  await note(work, work.pipeline.db, there, counts)
  return there
}

/**
 * Deletes facts and counts them once: the number is stored before the deletion, since a repeated
 * step after a kill would find fewer.
 */
async function forgetOnce(
  work: Work,
  place: ErasureProgress,
  by: string,
  subjects: readonly AskedSubject[],
): Promise<FactCounts> {
  return await forgetFacts(work.facts, work.row, subjects, async (found) => {
    const before = place.forgetting?.by === by ? place.forgetting : undefined
    const counts = {
      facts: Math.max(found.facts, before?.facts ?? 0),
      purchases: Math.max(found.purchases, before?.purchases ?? 0),
    }
    if (found.facts + found.purchases > 0) {
      await note(work, work.pipeline.db, { ...place, forgetting: { by, ...counts } }, {})
    }
    return counts
  })
}

/** Maximum number of files that one query returns. */
const FILES_A_STEP = 100

/** Waits until batches being deleted are gone, and released files are removed. */
async function waitForEnds(
  work: Work,
  place: ErasureProgress,
): Promise<ErasureProgress | 'done' | 'wait'> {
  const { row, pipeline, signal } = work
  const { db } = pipeline
  const until = place.after?.[0] ?? (await databaseMoment(db))
  const there = { ...place, after: [until] }
  const owner = { accountId: row.account_id, modes: modesOf(row.mode) }
  const { deleted, ending } = await unfinishedEnds(db, owner, until)
  for (const id of deleted) if ((await eraseStep(db, id)) === 'more') return there
  const files = await removalsOf(db, row.account_id, until, FILES_A_STEP)
  const left = files.length - (await removeEach(pipeline, files, signal))
  if (left === 0 && files.length === FILES_A_STEP) return there
  const { deleted: busy } =
    deleted.length === 0 ? { deleted } : await unfinishedEnds(db, owner, until)
  if (busy.length + ending.length + left === 0) return 'done'
  await note(work, db, there, {})
  return 'wait'
}
