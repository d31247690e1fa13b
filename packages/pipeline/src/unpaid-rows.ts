import type { RowKind } from '@plumbline/contract/batch'
import { Problem } from '@plumbline/contract/problem'
import type { BatchRow } from '@plumbline/db/batches/rows'
import type { StageFence } from '@plumbline/db/batches/stages'
import { readUnpaidRows, takeUnpaidRows } from '@plumbline/db/batches/unpaid-rows'
import type { Tx } from '@plumbline/db/database'
import { IntakeError } from '@plumbline/intake/intake-error'
import type { Pipeline } from './pipeline.ts'

/** Rows between two counts: an account may exceed its daily limit by this many. */
const STEP_ROWS = 10_000

/** Counts the rows of a batch that cost nothing, while its file is read. */
export interface UnpaidRows {
  /** Adds a row to the count. */
  add(kind: RowKind): void
  /**
   * Stores the rows added since the last call, if they are `least` or more. False if another worker
   * has the batch.
   *
   * @throws IntakeError if the account's daily limit is reached
   */
  store(least?: number): Promise<boolean>
}

/**
 * Makes the counter of a batch's unpaid rows: all rows for a test key, else those that are not
 * billable.
 */
export function countUnpaidRows(
  { db, limits }: Pick<Pipeline, 'db' | 'limits'>,
  stage: StageFence,
  mode: BatchRow['mode'],
): UnpaidRows {
  const mostPerDay = limits.unpaidRowsPerDay
  let count = 0
  let stored = 0
  return {
    add: (kind) => {
      if (mode === 'test' || kind !== 'billable') count += 1
    },
    store: async (least = STEP_ROWS) => {
      if (count - stored < least) return true
      stored = count
      switch (await takeUnpaidRows(db, stage, { count, mostPerDay })) {
        case 'taken':
          return true
        case 'lost':
          return false
        case 'over':
          throw new IntakeError('too_many_requests', `${usedUp(mostPerDay)} ${ADVICE}`)
      }
    },
  }
}

const ADVICE = 'Send it without those rows, or after midnight UTC.'

/**
 * Counts a lookup of a test key, in the transaction that begins it.
 *
 * @throws Problem `too_many_requests` if its account's daily limit of unpaid rows is reached
 */
export async function takeUnpaidLookup(
  tx: Tx,
  { unpaidRowsPerDay: mostPerDay }: Pipeline['limits'],
  { accountId, mode }: { accountId: string; mode: BatchRow['mode'] },
  id: string,
): Promise<void> {
  if (mode !== 'test') return
  const taken = await takeUnpaidRows(tx, { batchId: id, lease: 1 }, { count: 1, mostPerDay })
  if (taken === 'taken') return
  const { dayLeftSeconds } = await readUnpaidRows(tx, accountId)
  throw tooManyUnpaid(mostPerDay, dayLeftSeconds)
}

/**
 * Refuses a batch of a test key before its file is read, if its account's daily limit of unpaid
 * rows is reached. For a live key the number is known only once the file was read.
 *
 * @throws Problem `too_many_requests`
 */
export async function refuseUnpaid(
  { db, limits }: Pick<Pipeline, 'db' | 'limits'>,
  { accountId, mode }: { accountId: string; mode: BatchRow['mode'] },
): Promise<void> {
  if (mode !== 'test') return
  const { count, dayLeftSeconds } = await readUnpaidRows(db, accountId)
  if (count < limits.unpaidRowsPerDay) return
  throw tooManyUnpaid(limits.unpaidRowsPerDay, dayLeftSeconds)
}

function usedUp(mostPerDay: number): string {
  return `The account has used up its ${mostPerDay} rows a day that nobody pays for: those of test keys, and duplicate, known, blank and refused rows.`
}

function tooManyUnpaid(mostPerDay: number, dayLeftSeconds: number): Problem {
  return new Problem(
    'too_many_requests',
    `${usedUp(mostPerDay)} Use a live key, or try again after midnight UTC.`,
    { retryAfterSeconds: dayLeftSeconds },
  )
}
