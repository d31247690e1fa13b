import { randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import type { BatchView } from '@plumbline/contract/batch-view'
import type { Account } from '@plumbline/testkit/service'
import type { LoadBalancer } from './load-balancer.ts'

/** A single call, with times by this process's clock; `status` is undefined if there was no response. */
export interface LabCall {
  readonly account: Account
  readonly email: string
  readonly beganMs: number
  readonly endedMs: number
  readonly status: number | undefined
  /** Credits charged, according to the response. */
  readonly chargedCredits: number
  /** Whether the response has an outcome, other than that the resolver failed. */
  readonly isAnswered: boolean
}

/** An accepted batch. */
export interface LabBatch {
  readonly account: Account
  readonly id: string
  readonly emails: readonly string[]
  /** When the accepted request was sent and its response arrived, by the clock of this process. */
  readonly sentMs: number
  readonly acceptedMs: number
  /** Whether its owner canceled it, so that its rows may end without an outcome. */
  readonly isCanceled: boolean
}

/** The email addresses of calls and batches. */
export interface Names {
  /** The address of the nth call. */
  call(no: number): string
  /** The address of a row of the nth batch. */
  row(batchNo: number, row: number): string
}

/** Calls a second of all accounts together, which call in turn. */
export const CALLS_A_SECOND = 10
const RECORDS = 20
const SUBMIT_CONCURRENCY = 8
const RETRY_MS = 250
const SUBMIT_WITHIN_MS = 300_000

/** Reasons in responses and result rows whose outcome is missing because the resolver failed. */
export const RESOLVER_FAILED = /"dns_(?:unavailable|failed)"/

/** Makes calls at a fixed rate, account after account, until stopped. */
export function startCalls(
  loadBalancer: LoadBalancer,
  accounts: readonly Account[],
  emailOf: (no: number) => string,
  perSecond = CALLS_A_SECOND,
): { stop(): Promise<readonly LabCall[]> } {
  const calls: Promise<LabCall>[] = []
  const timer = setInterval(() => {
    const account = accounts[calls.length % accounts.length]
    if (account !== undefined) calls.push(callOnce(loadBalancer, account, emailOf(calls.length)))
  }, 1_000 / perSecond)
  return {
    stop: () => {
      clearInterval(timer)
      return Promise.all(calls)
    },
  }
}

async function callOnce(
  loadBalancer: LoadBalancer,
  account: Account,
  email: string,
): Promise<LabCall> {
  const beganMs = performance.now()
  const answer = await answerOf(loadBalancer, account, email)
  return { account, email, beganMs, endedMs: performance.now(), ...answer }
}

async function answerOf(
  loadBalancer: LoadBalancer,
  account: Account,
  email: string,
): Promise<Pick<LabCall, 'status' | 'chargedCredits' | 'isAnswered'>> {
  try {
    const response = await fetch(new URL('/v1/email', loadBalancer.url()), {
      method: 'POST',
      headers: headersOf(account),
      body: JSON.stringify({ email, explain: true }),
    })
    const text = await response.text()
    const { status } = response
    const chargedCredits = Number(response.headers.get('x-credits-charged') ?? 0)
    return { status, chargedCredits, isAnswered: status === 200 && !RESOLVER_FAILED.test(text) }
  } catch {
    return { status: undefined, chargedCredits: 0, isAnswered: false }
  }
}

function headersOf(account: Account): Readonly<Record<string, string>> {
  return { authorization: `Bearer ${account.liveKey}`, 'content-type': 'application/json' }
}

/** Submits a batch for each account; each request is repeated with its `Idempotency-Key` until it is accepted. */
export async function submitBatches(
  loadBalancer: LoadBalancer,
  accounts: readonly Account[],
  emailOf: Names['row'],
): Promise<readonly LabBatch[]> {
  const taken: LabBatch[] = []
  const left = [...accounts.entries()]
  const submitSome = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const [no, account] = next
      const emails = Array.from({ length: RECORDS }, (_, row) => emailOf(no, row))
      taken.push(await submitBatch(loadBalancer, account, emails))
    }
  }
  await Promise.all(Array.from({ length: SUBMIT_CONCURRENCY }, submitSome))
  return taken
}

/**
 * Submits one batch; the request is repeated with its `Idempotency-Key` until it is accepted.
 *
 * @throws if it is refused for good
 */
export async function submitBatch(
  loadBalancer: LoadBalancer,
  account: Account,
  emails: readonly string[],
): Promise<LabBatch> {
  const headers = { authorization: `Bearer ${account.liveKey}`, 'idempotency-key': randomUUID() }
  const form = (): FormData => {
    const made = new FormData()
    made.set('product', 'email')
    made.set('explain', 'true')
    made.set('file', new Blob([`email\n${emails.join('\n')}\n`]), 'list.csv')
    return made
  }
  const until = performance.now() + SUBMIT_WITHIN_MS
  for (;;) {
    const url = new URL('/v1/batches', loadBalancer.url())
    const sentMs = performance.now()
    const sent = fetch(url, { method: 'POST', headers, body: form() })
    const response = await sent.catch(() => undefined)
    const text = await response?.text().catch(() => undefined)
    if (response?.status === 202 && text !== undefined) {
      // Safe because the service answers batches in the shape of its contract.
      const { id } = JSON.parse(text) as BatchView
      return { account, id, emails, sentMs, acceptedMs: performance.now(), isCanceled: false }
    }
    const mayRetry = response === undefined || RETRIED.includes(response.status)
    if (!mayRetry || performance.now() > until) {
      throw new Error(`a batch was answered ${response?.status}: ${text}`)
    }
    await wait(RETRY_MS)
  }
}

/** Statuses after which the request is sent again. */
const RETRIED: readonly number[] = [409, 429, 500, 503, 507]

/** Cancels a batch. @throws if that is refused */
export async function cancelLabBatch(
  loadBalancer: LoadBalancer,
  batch: LabBatch,
): Promise<LabBatch> {
  const url = new URL(`/v1/batches/${batch.id}/cancel`, loadBalancer.url())
  const response = await fetch(url, { method: 'POST', headers: headersOf(batch.account) })
  if (!response.ok) throw new Error(`a cancel was answered ${response.status}`)
  await response.text()
  return { ...batch, isCanceled: true }
}
