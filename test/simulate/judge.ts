import { CHECKS, priceCredits, type Check } from '@plumbline/contract/products'
import { readBatch, type BatchRow } from '@plumbline/db/batches/rows'
import type { Db } from '@plumbline/db/database'
import { auditLedger } from '@plumbline/testkit/audit-ledger'
import type { LedgerFault } from '@plumbline/metering/audit-run'
import { readBalance } from '@plumbline/metering/balance'
import Papa from 'papaparse'
import { rowsOf, type PlannedRow } from './batch-rows.ts'
import type { Customers, SubmittedBatch, SubmittedCall, SimulatedAccount } from './customers.ts'
import { largestChange, CHANGED_CHUNKS_MAX } from './database-clock.ts'
import type { BatchProduct, Plan } from './plan.ts'
import { ENGINE_CONCURRENCY } from './service.ts'
import type { VirtualTime } from './virtual-time.ts'

/** States in which a batch stays until a customer changes it, or for good. */
export const ENDED: readonly string[] = ['completed', 'canceled', 'failed', 'ready', 'expired']

/** A minute more than the lease of an audit. */
const AUDIT_WITHIN_MS = 16 * 60_000

/** A finished world, to be judged. */
export interface FinishedWorld {
  readonly time: VirtualTime
  readonly plan: Plan
  readonly db: Db
  readonly customers: Customers
  readonly accounts: readonly SimulatedAccount[]
}

interface ResultLine {
  readonly row: number
  readonly input: Readonly<Record<string, string>> | readonly string[] | null
  readonly status: string
  readonly credits_charged: number
  readonly result: Readonly<Record<string, unknown>> | null
}

/** Checks all conditions of a finished world; returns a sentence for each that is violated. */
export async function judge(outcome: FinishedWorld): Promise<readonly string[]> {
  const { db, customers, accounts } = outcome
  const faults: string[] = []
  const used = new Map<string, number>()
  for (const batch of customers.batches) {
    const verdict = await judgeBatch(outcome, batch)
    faults.push(...verdict.faults)
    used.set(batch.account.id, (used.get(batch.account.id) ?? 0) + verdict.used)
  }
  for (const account of accounts) {
    faults.push(...(await judgeAccount(outcome, account, used.get(account.id) ?? 0)))
  }
  for (const fault of await auditWhenFree(outcome)) {
    faults.push(`ledger: ${fault.rule} ${fault.accountId}: ${fault.detail}`)
  }
  faults.push(...(await judgeLeftovers(db)), ...(await judgeWaits(outcome)))
  const { what, count } = await largestChange(db)
  if (count > CHANGED_CHUNKS_MAX) {
    faults.push(`one transaction changed tasks of ${count} chunks (${what}): others wait for it`)
  }
  return faults
}

/**
 * Audits the ledger; retries while the lease of another audit is held, which may be that of a killed
 * process or of one whose start was not acknowledged.
 */
async function auditWhenFree({ db, time }: FinishedWorld): Promise<readonly LedgerFault[]> {
  const endMs = time.nowMs() + AUDIT_WITHIN_MS
  for (;;) {
    try {
      return await auditLedger(db)
    } catch (error) {
      if (time.nowMs() > endMs) throw error
    }
  }
}

async function judgeBatch(
  { db, customers }: FinishedWorld,
  batch: SubmittedBatch,
): Promise<{ faults: readonly string[]; used: number }> {
  const name = `batch ${batch.no}`
  if (batch.id === undefined) return { faults: [`${name} was never accepted`], used: 0 }
  const row = await readBatch(db, batch.id)
  if (row === undefined) return { faults: [`${name} was accepted and is lost`], used: 0 }
  if (!ENDED.includes(row.status)) {
    return { faults: [`${name} (${row.id}) is stuck as ${row.status}`], used: 0 }
  }
  if (row.status === 'ready') return { faults: [], used: 0 }
  if (batch.planned.special === 'no_retention') {
    const charged = creditsOf(rowsOf(batch.planned, batch.no))
    return { faults: await holdFaults(db, row, charged), used: charged }
  }
  if (row.status !== 'completed' && row.status !== 'canceled') {
    return { faults: [`${name} ended as ${row.status}: ${row.error?.message ?? ''}`], used: 0 }
  }
  if (row.status === 'canceled' && !batch.isChanged) {
    return { faults: [`${name} was canceled, but not by its owner`], used: 0 }
  }
  const path = `/v1/batches/${batch.id}/results?format=ndjson`
  const response = await customers.request(batch.account, 'GET', path)
  if (response?.status !== 200) {
    return { faults: [`${name}: its results cannot be read (${response?.status})`], used: 0 }
  }
  // Safe because the service writes lines of its contract; each is compared with what it must be.
  const lines = response.text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as ResultLine)
  const charged = lines.reduce((sum, line) => sum + line.credits_charged, 0)
  return {
    faults: [
      ...lineFaults(name, row, lines, rowsOf(batch.planned, batch.no)),
      ...foreignResults(name, batch.planned.product, lines),
      ...(await fileFaults(customers, batch, lines)),
      ...(await holdFaults(db, row, charged)),
    ],
    used: charged,
  }
}

/** The stored file is written once, the other forms are made from the rows: both show the same charges. */
async function fileFaults(
  customers: Customers,
  batch: SubmittedBatch,
  lines: readonly ResultLine[],
): Promise<readonly string[]> {
  const path = `/v1/batches/${batch.id}/results?format=csv`
  const response = await customers.request(batch.account, 'GET', path)
  const { data } = Papa.parse<Readonly<Record<string, string>>>(response?.text ?? '', {
    header: true,
    delimiter: ',',
    newline: '\r\n',
    skipEmptyLines: true,
  })
  const stored = data.map((cells) => Number(cells['result.credits_charged']))
  const shown = lines.map((line) => line.credits_charged)
  return JSON.stringify(stored) === JSON.stringify(shown)
    ? []
    : [`batch ${batch.no}: its stored file (${response?.status}) charges other rows than are shown`]
}

function creditsOf(rows: readonly PlannedRow[]): number {
  return rows.reduce((sum, { credits }) => sum + credits, 0)
}

/** Rows that are missing, duplicated, out of order, or have another status or charge than expected. */
function lineFaults(
  name: string,
  row: BatchRow,
  lines: readonly ResultLine[],
  expected: readonly PlannedRow[],
): readonly string[] {
  if (lines.length !== expected.length) {
    return [`${name} has ${lines.length} rows of ${expected.length}`]
  }
  const wrong = lines.flatMap((line, at) => {
    const planned = expected[at]
    if (planned === undefined) return []
    const cells = JSON.stringify(Object.values(line.input ?? {}))
    if (line.row !== at + 1 || cells !== JSON.stringify(Object.values(planned.cells))) {
      return [`row ${at} is ${line.row} ${cells}`]
    }
    if (row.status === 'canceled') {
      return line.credits_charged <= planned.credits ? [] : [`row ${at} is charged too much`]
    }
    const status = planned.isBroken ? 'error' : 'done'
    return line.status === status && line.credits_charged === planned.credits
      ? []
      : [
          `row ${at} is ${line.status} for ${line.credits_charged}, expected ${status} for ${planned.credits}`,
        ]
  })
  return wrong.slice(0, 5).map((fault) => `${name}: ${fault} (${wrong.length} such)`)
}

/** Results of rows that are about the subject of another row, as each of a single check names its own. */
function foreignResults(
  name: string,
  product: BatchProduct,
  lines: readonly ResultLine[],
): readonly string[] {
  if (product === 'contact-intel') return []
  const wrong = lines.filter(
    ({ input, result }) =>
      result !== null && Object.values(input ?? {})[0] !== String(result[product]),
  )
  return wrong
    .slice(0, 5)
    .map(({ row, result }) => `${name}: row ${row} has the result of ${String(result?.[product])}`)
}

async function holdFaults(db: Db, row: BatchRow, charged: number): Promise<readonly string[]> {
  const { rows } = await db.pool.query<{
    credits: number
    settled: number
    released: number
    open: boolean
  }>(
    `select credits, settled, released, closed_at is null as open from credit_holds where ref = $1`,
    [row.id],
  )
  const [hold] = rows
  if (hold === undefined) return charged === 0 ? [] : [`batch ${row.id} was charged without a hold`]
  const isRight =
    !hold.open && hold.settled === charged && hold.credits === hold.settled + hold.released
  return isRight
    ? []
    : [`batch ${row.id}: rows are charged ${charged}, its hold is ${JSON.stringify(hold)}`]
}

async function judgeAccount(
  { plan, db, customers }: FinishedWorld,
  account: SimulatedAccount,
  usedByBatches: number,
): Promise<readonly string[]> {
  const balance = await readBalance(db, account.id)
  if (balance === undefined) return [`account ${account.id} is gone`]
  const faults = balance.held === 0 ? [] : [`account ${account.id} has ${balance.held} held`]
  const spent = account.credits - balance.available - balance.held - usedByBatches
  const calls = customers.calls.filter((call) => call.account === account)
  const answered = calls.filter(({ status }) => status === 200 || status === undefined)
  // A request repeated after its key has expired is a new call, and charged again.
  const most = sumOf(answered) + sumOf(answered.filter(({ isKeyExpired }) => isKeyExpired))
  // A call may be refunded if its process died after the response and before the debit was final.
  const least = plan.faults.length > 0 ? 0 : sumOf(calls.filter(({ status }) => status === 200))
  const submitted = customers.batches.filter((batch) => batch.account === account)
  const forgotten = submitted.filter(({ isKeyExpired }) => isKeyExpired)
  const isExact = forgotten.length === 0
  if (isExact && (spent < least || spent > most)) {
    faults.push(
      `account ${account.id} was charged ${spent} for calls, expected ${least} to ${most}`,
    )
  }
  if (plan.faults.length === 0) {
    const failed = calls.find(({ status }) => status !== 200)
    if (failed !== undefined)
      faults.push(`a call was answered ${failed.status} though nothing failed`)
  }
  const { rows } = await db.pool.query<{ count: number }>(
    'select count(*) as count from batches where account_id = $1',
    [account.id],
  )
  const count = rows[0]?.count ?? 0
  if (count < submitted.length || count > submitted.length + forgotten.length) {
    faults.push(`account ${account.id} has ${count} batches, but submitted ${submitted.length}`)
  }
  return faults
}

function sumOf(calls: readonly SubmittedCall[]): number {
  return calls.reduce((sum, { planned }) => sum + priceCredits(planned.check, [planned.check]), 0)
}

/**
 * Maximum rows of a small batch, and the limit from its upload to its end, besides twice the time of its
 * own checks.
 */
const SMALL_ROWS = 12
const SMALL_WITHIN_MS = 4_000

/**
 * Limit until the response to a single call, besides twice the time of its check: the limit of p95 in
 * the benchmark `neighbours`.
 */
const CALL_WITHIN_MS = 1_000

/** Longest permitted time until an upload is accepted. */
const UPLOAD_WITHIN_MS = 2_000

/** Requests and small batches of a world without faults that took longer than permitted. */
async function judgeWaits({ plan, db, customers }: FinishedWorld): Promise<readonly string[]> {
  if (plan.faults.length > 0) return []
  const small = customers.batches.filter(
    ({ planned, isChanged }) =>
      planned.rows <= SMALL_ROWS && planned.specialEvery === 0 && !isChanged,
  )
  const faults: string[] = []
  for (const { no, id = '', planned } of small) {
    const row = await readBatch(db, id)
    const { analyzing, completed } = row?.ats ?? {}
    if (analyzing === undefined || completed === undefined) continue
    const tookMs = Date.parse(completed) - Date.parse(analyzing)
    const ownMs = Math.ceil(planned.rows / ENGINE_CONCURRENCY) * plan.delayMs
    if (tookMs <= SMALL_WITHIN_MS + 2 * ownMs) continue
    faults.push(
      `batch ${no} of ${planned.rows} rows took ${tookMs} ms, ${ownMs} of them for its own checks`,
    )
  }
  for (const { no, longestMs } of customers.batches) {
    if (longestMs > UPLOAD_WITHIN_MS) faults.push(`batch ${no} was accepted after ${longestMs} ms`)
  }
  for (const { planned, longestMs } of customers.calls) {
    if (longestMs <= CALL_WITHIN_MS + 2 * plan.delayMs) continue
    faults.push(
      `a call of ${planned.check} took ${longestMs} ms, ${plan.delayMs} of them for its check`,
    )
  }
  return faults
}

async function judgeLeftovers(db: Db): Promise<readonly string[]> {
  const { rows } = await db.pool.query<{ what: string; count: number; first: object }>(`
    select 'tasks' as what, count(*) as count, (array_agg(to_jsonb(t)))[1] as first from tasks t
    union all select 'debits neither final nor refunded', count(*), (array_agg(to_jsonb(c)))[1]
      from credit_unanswered c
    union all select 'open holds', count(*), (array_agg(to_jsonb(h)))[1] from credit_holds h
      where closed_at is null and not exists (select from batches b where b.id = h.ref and b.status in
        ('ready', 'running', 'paused'))`)
  return rows
    .filter(({ count }) => count > 0)
    .map(({ what, count, first }) => `${count} ${what} are left: ${JSON.stringify(first)}`)
}

/** A sentence about a check with more tasks in flight than its limit; undefined if there is none. */
export async function excessInFlight(
  db: Db,
  boundOf: (check: Check) => number,
): Promise<string | undefined> {
  const { rows } = await db.pool.query<{ check_kind: Check; count: number }>(
    'select check_kind, count(*) as count from tasks where lease_until is not null group by 1',
  )
  for (const check of CHECKS) {
    const count = rows.find(({ check_kind }) => check_kind === check)?.count ?? 0
    if (count > boundOf(check))
      return `${count} ${check} tasks are in flight, limit ${boundOf(check)}`
  }
  return undefined
}
