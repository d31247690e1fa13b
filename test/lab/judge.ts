import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { readBatch } from '@plumbline/db/batches/rows'
import { auditLedger } from '@plumbline/testkit/audit-ledger'
import type { TestService } from '@plumbline/testkit/service'
import { ENDED } from '../simulate/judge.ts'
import { RESOLVER_FAILED, type LabBatch, type LabCall } from './load.ts'

/** Wrong charges and lost records of a run. */
export interface Verdict {
  readonly wrongCharges: readonly string[]
  readonly lostRecords: number
}

interface ResultLine {
  readonly row: number
  readonly input: Readonly<Record<string, string>>
  readonly status: string
  readonly credits_charged: number
}

/**
 * Compares rows, holds and the ledger of everything that was submitted. Requests that were in progress
 * during `gapMs` may be lost, although they were acknowledged; null if nothing may be lost.
 */
export async function judgeLab(
  service: TestService,
  batches: readonly LabBatch[],
  calls: readonly LabCall[],
  gapMs: { readonly from: number; readonly to: number } | null,
): Promise<Verdict> {
  const wrongCharges = (await auditLedger(service.db)).map(
    ({ rule, detail }) => `${rule}: ${detail}`,
  )
  let lostRecords = 0
  for (const batch of batches) {
    const verdict = await judgeBatch(service, batch)
    const mayBeGone = gapMs !== null && batch.acceptedMs >= gapMs.from && batch.sentMs <= gapMs.to
    if (verdict.isGone && mayBeGone) continue
    lostRecords += verdict.lost
    wrongCharges.push(...verdict.wrong)
  }
  wrongCharges.push(...(await judgeCalls(service, calls, gapMs !== null)))
  return { wrongCharges, lostRecords }
}

async function judgeBatch(
  service: TestService,
  batch: LabBatch,
): Promise<{ readonly isGone: boolean; readonly lost: number; readonly wrong: readonly string[] }> {
  const { id, emails } = batch
  const row = await readBatch(service.db, id)
  if (row === undefined) return { isGone: true, lost: emails.length, wrong: [] }
  if (!ENDED.includes(row.status)) return { isGone: false, lost: emails.length, wrong: [] }
  const { kept, charged } = await readRows(service, batch)
  const { rows } = await service.db.pool.query<{ settled: number; is_open: boolean }>(
    'select settled, closed_at is null as is_open from credit_holds where ref = $1',
    [id],
  )
  const [hold] = rows
  // A batch that is canceled before its file was read has no hold yet.
  const isRight =
    hold === undefined
      ? row.status === 'canceled' && charged === 0
      : !hold.is_open && hold.settled === charged
  return {
    isGone: false,
    lost: emails.length - kept,
    wrong: isRight ? [] : [`batch ${id}: rows say ${charged}, its hold ${JSON.stringify(hold)}`],
  }
}

/** The number of rows that exist once, in order and answered, and the total charge of all rows. */
async function readRows(
  service: TestService,
  { account, id, emails, isCanceled }: LabBatch,
): Promise<{ readonly kept: number; readonly charged: number }> {
  const path = `/v1/batches/${id}/results?format=ndjson`
  const { body } = await service.call(account.liveKey, 'GET', path)
  let [at, kept, charged] = [0, 0, 0]
  // Read line by line: a million rows exceed the maximum length of a string.
  const input = body === null ? Readable.from([]) : Readable.fromWeb(body)
  for await (const text of createInterface({ input, crlfDelay: Infinity })) {
    // Safe because the service writes lines of its contract; each is compared with what it must be.
    const line = JSON.parse(text) as ResultLine
    const isAnswered = line.status === 'done' && !RESOLVER_FAILED.test(text)
    const isOwn = line.row === at + 1 && line.input['email'] === emails[at]
    if (isOwn && (isAnswered || isCanceled)) kept += 1
    charged += line.credits_charged
    at += 1
  }
  return { kept: at > emails.length ? 0 : kept, charged }
}

/**
 * Compares what each account was charged with its responses. A call without a response may or may not be
 * charged; with `mayLoseWrites`, debits that were acknowledged may be gone.
 */
async function judgeCalls(
  { db }: TestService,
  calls: readonly LabCall[],
  mayLoseWrites: boolean,
): Promise<readonly string[]> {
  const wrong: string[] = []
  for (const [id, own] of Map.groupBy(calls, ({ account }) => account.id)) {
    const { rows } = await db.pool.query<{ spent: number }>(
      `select coalesce(-sum(allowance_delta + packs_delta), 0)::int as spent from credit_entries
       where account_id = $1 and kind in ('debit', 'refund', 'give_back')`,
      [id],
    )
    const spent = rows[0]?.spent ?? 0
    const answered = own.reduce((sum, { chargedCredits }) => sum + chargedCredits, 0)
    const unanswered = own.filter(({ status }) => status === undefined).length
    const least = mayLoseWrites ? 0 : answered
    if (spent < least || spent > answered + unanswered) {
      wrong.push(`account ${id}: responses say ${answered} credits, ${spent} were charged`)
    }
  }
  return wrong
}
