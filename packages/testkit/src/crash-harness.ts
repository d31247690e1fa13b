import type { BatchView } from '@plumbline/contract/batch-view'
import { setTimeout as wait } from 'node:timers/promises'
import { expect, vi } from 'vitest'
import { PATIENT } from './patience.ts'
import { createTestDatabase } from './postgres.ts'
import { soakSize } from './soak.ts'
import { startService, type Account, type Member, type TestService } from './service.ts'

/** Records of each chunk, and of all chunks, of a batch in the crash tests. */
export const CHUNK_RECORDS = soakSize(500, 100)
const CHUNKS = soakSize(40, 16)
export const RECORDS = CHUNKS * CHUNK_RECORDS
/** An email worker that needs two seconds for a chunk, so that a fault hits a batch in progress. */
export const SLOW_EMAIL = ['email', '--delay=200', `--width=${CHUNK_RECORDS / 10}`] as const
const END_WITHIN_MS = 300_000
const DEBIT_TIMEOUT_SECONDS = 12
const SWEEP_SECONDS = 1
const OWED_MOST_MS = (DEBIT_TIMEOUT_SECONDS + SWEEP_SECONDS) * 3 * 1_000

/** Leases, saves and sweeps that are short enough for tests. */
export const QUICK: Readonly<Record<string, string>> = {
  CHUNK_RECORDS: String(CHUNK_RECORDS),
  LEASE_SECONDS: '3',
  SAVE_SECONDS: '1',
  SWEEP_SECONDS: String(SWEEP_SECONDS),
  CALL_TIMEOUT_SECONDS: '10',
  DEBIT_TIMEOUT_SECONDS: String(DEBIT_TIMEOUT_SECONDS),
}

/**
 * The backends run concurrently, since tests mostly wait; the faults of one backend run one after
 * the other.
 */
export const IN_TURN = { concurrent: false } as const

/** A service with a database of its own, and an account with credits for two batches. */
export interface CrashTurn {
  readonly service: TestService
  readonly account: Account
  readonly databaseUrl: string
}

/** The same, disposable. */
export interface CrashHarness extends CrashTurn, AsyncDisposable {}

type Client = Pick<CrashHarness, 'service' | 'account'>

/**
 * Starts a service with short leases; the arguments of its workers are those of
 * `instant-worker.ts`.
 */
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
 * The harness for the next of several tests, with a new account: starting the processes again costs
 * more than most of these tests. Processes that the previous test killed are restarted.
 */
export async function openTurn({ service, databaseUrl }: CrashTurn): Promise<CrashTurn> {
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

/** Waits until a batch no longer changes by itself; calls that fail meanwhile are retried. */
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
    // A look is work of the service that is waited for: what takes long is looked at seldom.
    await wait(Math.min(50 * look, 250))
  }
  throw new Error(`the batch did not end: ${JSON.stringify(last)}`)
}

/**
 * Waits until no debit is unanswered; fails if one is after three times the time that the settings
 * allow (two minutes in production, here DEBIT_TIMEOUT_SECONDS and a sweep).
 */
export async function untilNothingIsOwed(service: TestService): Promise<void> {
  // Not `expect.poll`, which is refused where the test beside this one has just ended.
  await vi.waitFor(async () => expect(await unanswered(service)).toBe(0), {
    timeout: OWED_MOST_MS,
    interval: 100,
  })
}

/** Waits until workers have claimed tasks of a batch. */
export async function untilInHand({ service }: CrashTurn, id: string): Promise<void> {
  const inHand = async (): Promise<number | null> =>
    (
      await service.db.pool.query(
        'select from tasks where batch_id = $1 and lease_until is not null',
        [id],
      )
    ).rowCount
  await vi.waitFor(async () => expect(await inHand()).toBeGreaterThan(0), PATIENT)
}

/** Waits until at least this many debits are unanswered. */
export async function untilUnanswered(service: TestService, count: number): Promise<void> {
  await vi.waitFor(
    async () => expect(await unanswered(service)).toBeGreaterThanOrEqual(count),
    PATIENT,
  )
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

/** The state of a batch in its row, also while no API runs. */
export async function stateOf({ service }: CrashTurn, id: string): Promise<string | undefined> {
  const { rows } = await service.db.pool.query<{ status: string }>(
    'select status from batches where id = $1',
    [id],
  )
  return rows[0]?.status
}
