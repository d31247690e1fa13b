import { setTimeout as waitFor } from 'node:timers/promises'
import { isMissing, type SourceUpdate } from '@plumbline/datasets/update'
import { judgeUpdate, readUpdateRecord, type UpdateRecord } from '@plumbline/datasets/update-record'
import type { Db } from '@plumbline/db/database'
import { holdDuty, leaveDuty } from '@plumbline/db/duties'
import type { EngineHealth } from '@plumbline/ports/engine'
import type { Log } from '@plumbline/ports/log'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/**
 * Milliseconds from the start to the first check, with random jitter added, so that publishers do
 * not get all requests at once.
 */
const FIRST_MS = HOUR_MS
const SPREAD_MS = HOUR_MS
/** Milliseconds between two checks whether an update is due. */
const POLL_MS = 10 * MINUTE_MS
/** Time-out of a whole update: its two databases may take 20 minutes each. */
const UPDATE_MS = HOUR_MS
/** Milliseconds for which a process holds the duty of updating. */
const TERM_MS = UPDATE_MS + 5 * MINUTE_MS

/** Options of the daily updates of a folder of lists. */
export interface ListUpdatesOptions {
  readonly db: Db
  /** Folder of lists; may be shared with other processes. */
  readonly dir: string
  /** `off`: another program updates, such as cron; results are reported nevertheless. */
  readonly mode: 'daily' | 'off'
  /** Identifies this process, as the holder of the duty. */
  readonly holder: string
  readonly log: Log
  readonly update: (signal: AbortSignal) => Promise<readonly SourceUpdate[]>
  readonly now?: () => Date
  /** Rejects once the signal aborts. */
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<unknown>
  /** From 0 to 1. */
  readonly random?: () => number
}

/** The daily updates of a folder of lists. */
export interface ListUpdates {
  /**
   * Updates when due, until the signal aborts; for the first time an hour or more after the call.
   */
  run(signal: AbortSignal): Promise<void>
  /** Health row of the last update. */
  health(): Promise<readonly EngineHealth[]>
  /** Record of the last update; null before the first. */
  last(): Promise<UpdateRecord | null>
}

/** An update that threw: by the clock of this process, in milliseconds. */
interface FailedUpdate {
  readonly at: number
  readonly message: string
}

/**
 * Runs daily updates, by one process at a time of all that share the database. The folder tells
 * whether an update is due: processes that share no folder each update their own, one after the
 * other, and an update that the operator ran by hand counts. A failed update is tried again the
 * next day.
 */
export function createListUpdates(options: ListUpdatesOptions): ListUpdates {
  const { db, dir, mode, holder, log, now = () => new Date(), random = Math.random } = options
  const wait =
    options.wait ?? ((ms: number, signal: AbortSignal) => waitFor(ms, undefined, { signal }))
  // A folder that cannot be written keeps no record.
  let failed: FailedUpdate | null = null

  async function isDue(): Promise<boolean> {
    const record = await readUpdateRecord(dir)
    const times = [
      failed?.at ?? -Infinity,
      record === null ? -Infinity : Date.parse(record.startedAt),
    ]
    const age = now().getTime() - Math.max(...times)
    // A date in the future was recorded before the clock went back.
    return age >= DAY_MS || age < -DAY_MS
  }

  async function updateWhenDue(signal: AbortSignal): Promise<void> {
    if (!(await isDue()) || !(await holdDuty(db, 'lists', holder, TERM_MS))) return
    try {
      // Another process may have updated the folder since.
      if (!(await isDue())) return
      const updates = await options.update(
        AbortSignal.any([signal, AbortSignal.timeout(UPDATE_MS)]),
      )
      failed = null
      const missing = updates.filter(isMissing).length
      log.info({ sources: updates.length, missing }, 'reference lists updated')
    } catch (error) {
      if (signal.aborted) return
      const message = error instanceof Error ? error.message : String(error)
      failed = { at: now().getTime(), message }
      log.warn({ err: error, dir }, 'reference lists not updated; tried again in a day')
    } finally {
      await leaveDuty(db, 'lists', holder)
    }
  }

  async function run(signal: AbortSignal): Promise<void> {
    if (mode === 'off') return
    let ms = FIRST_MS + random() * SPREAD_MS
    while (!signal.aborted) {
      try {
        await wait(ms, signal)
        await updateWhenDue(signal)
      } catch (error) {
        if (signal.aborted) return
        log.warn(
          { err: error },
          'could not determine whether the reference lists are due for an update',
        )
      }
      ms = POLL_MS
    }
  }

  return {
    run,
    last: () => readUpdateRecord(dir),
    health: async () => [
      { name: 'list updates', ...judge(await readUpdateRecord(dir), mode, failed, now()) },
    ],
  }
}

function judge(
  record: UpdateRecord | null,
  mode: ListUpdatesOptions['mode'],
  failed: FailedUpdate | null,
  now: Date,
): Omit<EngineHealth, 'name'> {
  // Another process may have succeeded since.
  if (failed !== null && (record === null || failed.at >= Date.parse(record.startedAt))) {
    return { status: 'degraded', detail: `the last one failed: ${failed.message}` }
  }
  if (record === null) {
    return mode === 'off'
      ? { status: 'off', detail: 'DATA_UPDATE is off, and nothing was updated yet' }
      : { status: 'ok', detail: 'none yet; the first begins within two hours of a start' }
  }
  return judgeUpdate(record, now)
}
