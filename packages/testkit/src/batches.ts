import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { AccountView } from '@plumbline/contract/account'
import type { BatchState } from '@plumbline/contract/batch'
import type { BatchView } from '@plumbline/contract/batch-view'
import Papa from 'papaparse'
import { expect } from 'vitest'
import { entriesBelow } from './entries-below.ts'
import { expectLedgerIntact } from './invariants.ts'
import type { Account, TestService } from './service.ts'

/** A service, and an account with the key for a test's calls. */
export interface Caller {
  readonly service: TestService
  readonly account: Account
  readonly key: string
}

/** One line of an NDJSON result. Source: decision 35. */
export interface ResultLine {
  readonly row: number
  readonly ref: string | null
  readonly input: unknown
  readonly status: string
  readonly result: Readonly<Record<string, unknown>> | null
  readonly credits_charged: number
  readonly error: string | null
}

/** States in which a batch stays until a client changes it, or for good. */
export const STOPPED: readonly BatchState[] = [
  'ready',
  'completed',
  'canceled',
  'failed',
  'expired',
]

const STOP_WITHIN_MS = 300_000

/** Makes the multipart form of an upload. */
export function formOf(
  fields: Readonly<Record<string, string>>,
  content: string | Uint8Array<ArrayBuffer>,
  fileName = 'list.csv',
): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.set(name, value)
  form.set('file', new Blob([content]), fileName)
  return form
}

/** Submits a batch; fails the test if it is refused. */
export async function submitBatch(caller: Caller, body: unknown): Promise<BatchView> {
  const response = await call(caller, 'POST', '/v1/batches', body)
  const text = await response.text()
  expect([response.status, text]).toEqual([202, expect.any(String)])
  return batchIn(text)
}

/** Waits until a batch is in one of the states. */
export async function untilBatch(
  caller: Caller,
  id: string,
  states: readonly BatchState[] = STOPPED,
): Promise<BatchView> {
  const deadline = Date.now() + STOP_WITHIN_MS
  for (let look = 1; ; look++) {
    const view = await viewBatch(caller, id)
    if (states.includes(view.status)) return view
    if (Date.now() > deadline) throw new Error(`the batch did not stop: ${JSON.stringify(view)}`)
    // Each request is work for the service under test: long batches are polled less often.
    await wait(Math.min(25 * look, 250))
  }
}

/** The current state of a batch. */
export async function viewBatch(caller: Caller, id: string): Promise<BatchView> {
  const response = await call(caller, 'GET', `/v1/batches/${id}`)
  const text = await response.text()
  expect([response.status, text]).toEqual([200, expect.any(String)])
  return batchIn(text)
}

/** Submits a batch and waits until it has stopped. */
export async function runBatch(caller: Caller, body: unknown): Promise<BatchView> {
  const { id } = await submitBatch(caller, body)
  return await untilBatch(caller, id)
}

/** The NDJSON result of a batch, with the given query. */
export async function readLines(
  caller: Caller,
  id: string,
  query = '',
): Promise<readonly ResultLine[]> {
  const path = `/v1/batches/${id}/results?format=ndjson${query}`
  const text = await (await call(caller, 'GET', path)).text()
  // Safe because a test compares each line with what it must be.
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as ResultLine)
}

/** The CSV result of a batch as rows of cells; the first holds the column names. */
export async function readCells(
  caller: Caller,
  id: string,
  query = '',
): Promise<readonly (readonly string[])[]> {
  const path = `/v1/batches/${id}/results?format=csv${query}`
  const text = await (await call(caller, 'GET', path)).text()
  return Papa.parse<string[]>(text, { skipEmptyLines: true }).data
}

/** One call with the caller's key. */
export async function call(
  { service, key }: Caller,
  method: string,
  path: string,
  body?: unknown,
): Promise<Response> {
  return await service.call(key, method, path, body)
}

/** The spendable and the held credits of an account. */
export async function creditsOf(caller: Caller): Promise<{ left: number; held: number }> {
  const response = await call(caller, 'GET', '/v1/account')
  const { credits } = (await response.json()) as AccountView
  return { left: credits.allowance + credits.packs, held: credits.held }
}

/**
 * Asserts the state after all batches of a service have stopped: the ledger adds up, the account
 * has the expected credits, nothing is held, and no debit or task is open.
 */
export async function expectSettled(caller: Caller, left: number): Promise<void> {
  const { db } = caller.service
  const { rows } = await db.pool.query<{ tasks: number; unanswered: number }>(
    `select (select count(*)::int from tasks where account_id = $1) as tasks,
      (select count(*)::int from credit_unanswered where account_id = $1) as unanswered`,
    [caller.account.id],
  )
  expect(rows).toEqual([{ tasks: 0, unanswered: 0 }])
  expect(await creditsOf(caller)).toEqual({ left, held: 0 })
  await expectLedgerIntact(caller.service)
}

/** Files of every installation. */
const MARKS: ReadonlySet<string> = new Set(['files/installation', 'installation.key'])

/** Paths of the files in the service's data directory, sorted, without those of every installation. */
export async function filesOf(service: TestService): Promise<readonly string[]> {
  return (await entriesBelow(service.dataDir))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(service.dataDir.length + 1))
    .filter((path) => !MARKS.has(path))
    .toSorted()
}

/** Safe because the contract defines the shape of a batch. */
function batchIn(text: string): BatchView {
  return JSON.parse(text) as BatchView
}
