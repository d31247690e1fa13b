import type { BatchView } from '@plumbline/contract/batch-view'
import { setTimeout as wait } from 'node:timers/promises'
import { expect, vi } from 'vitest'
import { BEFORE_IT_ENDS } from './patience.ts'
import { createTestDatabase } from './postgres.ts'
import { soakSize } from './soak.ts'
import { startService, type Account, type Member, type TestService } from './service.ts'

/** Records of a chunk in the crash tests. */
export const CHUNK_RECORDS = soakSize(500, 100)
const CHUNKS = soakSize(40, 16)
/** Records of a batch in the crash tests. */
export const RECORDS = CHUNKS * CHUNK_RECORDS
/** Arguments of an email worker that takes two seconds for a chunk, so that a fault hits a running batch. */
export const SLOW_EMAIL = ['email', '--delay=200', `--width=${CHUNK_RECORDS / 10}`] as const
const END_WITHIN_MS = 300_000
const DEBIT_TIMEOUT_SECONDS = 12
const SWEEP_SECONDS = 1
const UNANSWERED_MAX_MS = (DEBIT_TIMEOUT_SECONDS + SWEEP_SECONDS) * 3 * 1_000

/** Settings with short leases, time limits and intervals of saves and sweeps. */
export const QUICK: Readonly<Record<string, string>> = {
  CHUNK_RECORDS: String(CHUNK_RECORDS),
  LEASE_SECONDS: '3',
  SAVE_SECONDS: '1',
  SWEEP_SECONDS: String(SWEEP_SECONDS),
  CALL_TIMEOUT_SECONDS: '10',
  DEBIT_TIMEOUT_SECONDS: String(DEBIT_TIMEOUT_SECONDS),
}

/**
 * Options of a test that does not run concurrently with others of the same `describe`: the two backends
 * are tested concurrently, the faults of each one after the other.
 */
export const SEQUENTIAL = { concurrent: false } as const

/** A service with a database of its own, and an account with credits for two batches. */
export interface CrashContext {
  readonly service: TestService
  readonly account: Account
  readonly databaseUrl: string
}

/** A context that closes its service and drops its database when disposed. */
export interface CrashHarness extends CrashContext, AsyncDisposable {}

type Client = Pick<CrashHarness, 'service' | 'account'>

/** Starts a service with the settings `QUICK`; `workers` are arguments of `instant-worker.ts`. */
export async function openCrashHarness(
  redisUrl: string | undefined,
  workers: readonly (readonly string[])[],
  env: Readonly<Record<string, string>> = {},
): Promise<CrashHarness> {
  await using stack = new AsyncDisposableStack()
  const database = stack.use(await createTestDatabase())
  const service = stack.use(
    await startService({ databaseUrl: database.url, redisUrl, workers, env: { ...QUICK, ...env } }),
  )
  const account = await service.account({ credits: RECORDS * 2 })
  const owned = stack.move()
  return {
    service,
    account,
    databaseUrl: database.url,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/**
 * The context for the next of several tests on one service, with a new account: a start of all processes
 * takes longer than most of these tests. Processes that the previous test killed are restarted.
 */
export async function openNextContext({
  service,
  databaseUrl,
}: CrashContext): Promise<CrashContext> {
  const dead = [service.api, ...service.workers].filter(({ process }) => hasEnded(process))
  await Promise.all(dead.map((member) => member.restart()))
  const account = await service.account({ credits: RECORDS * 2 })
  return { service, databaseUrl, account }
}

function hasEnded({ exitCode, signalCode }: Member['process']): boolean {
  return exitCode !== null || signalCode !== null
}

/** A worker by its index in the harness. */
export function memberAt(service: TestService, at: number): Member {
  const member = service.workers[at]
  if (member === undefined) throw new Error(`no worker ${at}`)
  return member
}

/** Uploads a batch of distinct addresses. */
export async function submit(
  { service, account }: Client,
  batch: { count?: number; more?: readonly string[]; start?: boolean } = {},
): Promise<{ id: string; emails: readonly string[] }> {
  const { count = RECORDS, more = [], start = true } = batch
  const emails = [
    ...Array.from({ length: count }, (_, at) => `person.${at}@company${at % 97}.example`),
    ...more,
  ]
  const form = new FormData()
  form.set('product', 'email')
  form.set('start', String(start))
  form.set('file', new Blob([`email\n${emails.join('\n')}\n`]), 'list.csv')
  const response = await service.call(account.liveKey, 'POST', '/v1/batches', form)
  expect(response.status).toBe(202)
  const { id } = (await response.json()) as BatchView
  return { id, emails }
}

/** The status of a single call about an address. */
export async function callStatus({ service, account }: Client, email: string): Promise<number> {
  const response = await service.call(account.liveKey, 'POST', '/v1/email', { email })
  await response.text()
  return response.status
}

/** Waits until a batch has ended or is `ready`; calls that fail are retried. */
export async function untilStopped({ service, account }: Client, id: string): Promise<BatchView> {
  const deadline = Date.now() + END_WITHIN_MS
  let last: unknown
  for (let look = 1; Date.now() < deadline; look++) {
    try {
      const response = await service.call(account.liveKey, 'GET', `/v1/batches/${id}`)
      const view = (await response.json()) as BatchView
      last = view
      if (response.ok && ['completed', 'failed', 'canceled', 'ready'].includes(view.status)) {
        return view
      }
    } catch (error) {
      last = error
    }
    // Each request is work for the service under test: long batches are polled less often.
    await wait(Math.min(50 * look, 250))
  }
  throw new Error(`the batch did not end: ${JSON.stringify(last)}`)
}

/**
 * Waits until every debit is final or refunded; fails after three times the longest time that the
 * settings allow: `DEBIT_TIMEOUT_SECONDS` and a sweep.
 */
export async function untilDebitsAreClosed(service: TestService): Promise<void> {
  // Not `expect.poll`, which is refused where the test beside this one has just ended.
  await vi.waitFor(async () => expect(await unanswered(service)).toBe(0), {
    timeout: UNANSWERED_MAX_MS,
    interval: 100,
  })
}

/** Waits until tasks of a batch are leased. */
export async function untilLeased({ service }: CrashContext, id: string): Promise<void> {
  const leased = async (): Promise<number | null> =>
    (
      await service.db.pool.query(
        'select from tasks where batch_id = $1 and lease_until is not null',
        [id],
      )
    ).rowCount
  await vi.waitFor(async () => expect(await leased()).toBeGreaterThan(0), BEFORE_IT_ENDS)
}

/** Waits until at least this many debits are neither final nor refunded. */
export async function untilUnanswered(service: TestService, count: number): Promise<void> {
  await vi.waitFor(
    async () => expect(await unanswered(service)).toBeGreaterThanOrEqual(count),
    BEFORE_IT_ENDS,
  )
}

/**
 * Sends calls until a debit is seen that is neither final nor refunded, of these or of earlier calls:
 * a call can end between two looks. Returns their statuses to come.
 */
export async function callUntilUnanswered(
  client: Client,
  email: string,
): Promise<readonly Promise<number>[]> {
  const calls: Promise<number>[] = []
  const deadline = Date.now() + BEFORE_IT_ENDS.timeout
  while (Date.now() < deadline) {
    const call = callStatus(client, `${calls.length}${email}`)
    calls.push(call)
    const ended = call.then(
      () => true,
      () => true,
    )
    do {
      if ((await unanswered(client.service)) > 0) return calls
    } while (
      Date.now() < deadline &&
      !(await Promise.race([ended, wait(BEFORE_IT_ENDS.interval, false)]))
    )
  }
  throw new Error(`none of ${calls.length} calls was seen before its end`)
}

async function unanswered(service: TestService): Promise<number> {
  const { rows } = await service.db.pool.query<{ count: number }>(
    'select count(*) as count from credit_unanswered',
  )
  return rows[0]?.count ?? -1
}

/** Credits that the account can spend now. */
export async function creditsOf({ service, account }: Client): Promise<number> {
  const response = await service.call(account.liveKey, 'GET', '/v1/account')
  const { credits } = (await response.json()) as { credits: { allowance: number; packs: number } }
  return credits.allowance + credits.packs
}

/** The state of a batch, read from the database, so that no API is needed. */
export async function stateOf({ service }: CrashContext, id: string): Promise<string | undefined> {
  const { rows } = await service.db.pool.query<{ status: string }>(
    'select status from batches where id = $1',
    [id],
  )
  return rows[0]?.status
}
