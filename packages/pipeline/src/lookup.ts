import { text } from 'node:stream/consumers'
import { LOOKUP_KEPT_DAYS, type LookupView } from '@plumbline/contract/lookup'
import { DAILY_LIMIT_REACHED, MESSAGES, PROBLEMS, Problem } from '@plumbline/contract/problem'
import {
  CHECKS,
  checksGiven,
  priceCredits,
  type Check,
  type Product,
} from '@plumbline/contract/products'
import { insertOwnChunk } from '@plumbline/db/batches/chunks'
import {
  countOpenLookups,
  findBatch,
  insertBatch,
  type BatchOwner,
  type BatchRow,
} from '@plumbline/db/batches/rows'
import type { Tx } from '@plumbline/db/database'
import { newTimedId } from '@plumbline/db/ids'
import { buildChunk } from './chunk-builder.ts'
import type { Pipeline } from './pipeline.ts'
import { openResults } from './results.ts'
import { holdAndRun } from './start.ts'
import { takeUnpaidLookup } from './unpaid-rows.ts'

/** An asynchronous lookup: one record that is processed with the time limits of a batch. */
export interface LookupRequest extends BatchOwner {
  readonly product: Product
  /** The body of a single call: a value for each check. */
  readonly values: { readonly [C in Check]?: string }
  readonly explain: boolean
  readonly chargeUnknown: boolean
  /** Maximum number of open lookups of the account. */
  readonly most: number
}

/**
 * Begins an asynchronous lookup: a batch of one record, created and started in one transaction.
 *
 * @throws Problem `payment_required` without the credits, or beyond the account's own daily limit;
 * `too_many_requests` if too many are open, or for a test key beyond the daily limit of unpaid rows
 */
export async function beginLookup(
  pipeline: Pipeline,
  request: LookupRequest,
  inTransaction: (tx: Tx, view: LookupView) => Promise<void>,
): Promise<void> {
  const { db, limits, scorers } = pipeline
  const id = newTimedId('lkp')
  await db.kysely.transaction().execute(async (tx) => {
    if ((await countOpenLookups(tx, request.accountId)) >= request.most) throw tooMany(request.most)
    const row = await insertBatch(tx, rowOf(id, request), limits.leaseMs)
    await takeUnpaidLookup(tx, limits, request, id)
    await insertOwnChunk(tx, id, buildChunk(0, [recordOf(request)]))
    const started = await holdAndRun(tx, row, scorers.current.version)
    if (started.kind === 'short') {
      const isPoor = started.lacks === 'balance'
      throw new Problem(
        'payment_required',
        isPoor ? MESSAGES.payment_required : DAILY_LIMIT_REACHED,
      )
    }
    await inTransaction(tx, viewOf(started.row))
  })
}

function tooMany(most: number): Problem {
  return new Problem(
    'too_many_requests',
    `The account has ${most} lookups that are not answered yet; wait until some are.`,
    { retryAfterSeconds: 30 },
  )
}

function rowOf(id: string, request: LookupRequest): Parameters<typeof insertBatch>[1] {
  const names = Object.keys(request.values)
  return {
    id,
    account_id: request.accountId,
    mode: request.mode,
    product: request.product,
    name: null,
    explain: request.explain,
    charge_unknown: request.chargeUnknown,
    default_country: null,
    auto_start: true,
    max_credits: null,
    retention_days: LOOKUP_KEPT_DAYS,
    requested: JSON.stringify({ format: 'records' }),
    // There is no file: the record came with the request.
    source_key: `uploads/${id}`,
    file_name: null,
    file_bytes: 0,
    file_format: 'records',
    is_lookup: true,
    read_whole: true,
    header: JSON.stringify(names),
    column_count: names.length,
    rows_total: 1,
    rows_billable: 1,
    credits_estimate:
      request.mode === 'test' ? 0 : priceCredits(request.product, checksGiven(request.values)),
  }
}

function recordOf({ values }: LookupRequest): Parameters<typeof buildChunk>[1][number] {
  const { email, phone, ip, domain } = values
  return {
    row: 0,
    kind: 'billable',
    cells: [JSON.stringify(values)],
    subjects: { email, phone, ip, domain },
    ref: undefined,
    ofRow: undefined,
    claim: undefined,
    error: undefined,
  }
}

/** A lookup of this owner, with its result once it has ended. @throws Problem `not_found` */
export async function readLookup(
  pipeline: Pipeline,
  owner: BatchOwner,
  id: string,
): Promise<LookupView> {
  const row = await findBatch(pipeline.db, owner, id)
  if (row === undefined || !row.is_lookup || row.status === 'expired') throw noSuchLookup()
  const view = viewOf(row)
  if (view.status === 'running') return view
  return { ...view, ...(await endOf(pipeline, owner, row)) }
}

/** The refusal of a lookup id that does not belong to the account. */
export function noSuchLookup(): Problem {
  return new Problem('not_found', 'There is no lookup with this id.')
}

function viewOf(row: BatchRow): LookupView {
  const isCompleted = row.status === 'completed'
  const hasEnded = isCompleted || row.status === 'failed' || row.status === 'canceled'
  const endedAt = row.ats[row.status]
  return {
    id: row.id,
    product: row.product,
    status: isCompleted ? 'completed' : hasEnded ? 'failed' : 'running',
    credits_used: priceCredits(
      row.product,
      CHECKS.filter((check) => row.header?.includes(check) === true),
    ),
    created_at: row.created_at.toISOString(),
    ...(hasEnded && endedAt !== undefined ? { completed_at: endedAt } : {}),
  }
}

/** The parts of an NDJSON line that are used here. */
interface Line {
  readonly status: string
  readonly result: Record<string, unknown> | null
  readonly error: string | null
}

const FAILED = {
  error: PROBLEMS.internal.error,
  message: 'The lookup could not be answered because of a fault of the service; send it again.',
} as const

async function endOf(
  pipeline: Pipeline,
  owner: BatchOwner,
  { id, status }: BatchRow,
): Promise<Pick<LookupView, 'status' | 'result' | 'error'>> {
  if (status !== 'completed') return { status: 'failed', error: FAILED }
  const asked = { format: 'ndjson', only: [], raw: false, after: 0 } as const
  const { stream } = await openResults(pipeline, owner, id, asked)
  // Safe because the row formatter has just written it.
  const line = JSON.parse(await text(stream)) as Line
  if (line.status === 'done' && line.result !== null)
    return { status: 'completed', result: line.result }
  return { status: 'failed', error: { ...FAILED, message: line.error ?? FAILED.message } }
}
