import { randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import type { BatchView } from '@plumbline/contract/batch-view'
import type { Account, TestService } from '@plumbline/testkit/service'

/** A single call, by the clock of this process; without a status it met no answer. */
export interface LabCall {
  readonly account: Account
  readonly beganMs: number
  readonly endedMs: number
  readonly status: number | undefined
}

/** A batch that was taken. */
export interface LabBatch {
  readonly account: Account
  readonly id: string
  readonly emails: readonly string[]
  /** When the request that it was taken by left, and when its answer came, by the clock of this process. */
  readonly sentMs: number
  readonly takenMs: number
}

const CALLS_A_SECOND = 10
const RECORDS = 20
const SUBMITTING = 8
const AGAIN_MS = 250
const SUBMIT_WITHIN_MS = 300_000

/** Calls at a fixed rate, account after account, until it is stopped. */
export function startCalls(
  service: TestService,
  accounts: readonly Account[],
): { stop(): Promise<readonly LabCall[]> } {
  const calls: Promise<LabCall>[] = []
  const timer = setInterval(() => {
    const account = accounts[calls.length % accounts.length]
    if (account !== undefined) calls.push(callOnce(service, account, calls.length))
  }, 1_000 / CALLS_A_SECOND)
  return {
    stop: () => {
      clearInterval(timer)
      return Promise.all(calls)
    },
  }
}

async function callOnce(service: TestService, account: Account, no: number): Promise<LabCall> {
  const beganMs = performance.now()
  const status = await statusOf(service, account, `call${no}@calls.example`)
  return { account, beganMs, endedMs: performance.now(), status }
}

async function statusOf(
  service: TestService,
  account: Account,
  email: string,
): Promise<number | undefined> {
  try {
    const response = await service.call(account.liveKey, 'POST', '/v1/email', { email })
    await response.text()
    return response.status
  } catch {
    return undefined
  }
}

/** Hands in a batch for each account, each again under its key until it is taken. */
export async function submitBatches(
  service: TestService,
  accounts: readonly Account[],
): Promise<readonly LabBatch[]> {
  const taken: LabBatch[] = []
  const left = [...accounts.entries()]
  const submitSome = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      taken.push(await submitOne(service, next[1], next[0]))
    }
  }
  await Promise.all(Array.from({ length: SUBMITTING }, submitSome))
  return taken
}

async function submitOne(service: TestService, account: Account, no: number): Promise<LabBatch> {
  const emails = Array.from({ length: RECORDS }, (_, row) => `u${row}@b${no}.example`)
  const body = JSON.stringify({ product: 'email', records: emails.map((email) => ({ email })) })
  const headers = {
    authorization: `Bearer ${account.liveKey}`,
    'content-type': 'application/json',
    'idempotency-key': randomUUID(),
  }
  const until = performance.now() + SUBMIT_WITHIN_MS
  for (;;) {
    const url = new URL('/v1/batches', service.url)
    const sentMs = performance.now()
    const response = await fetch(url, { method: 'POST', headers, body }).catch(() => undefined)
    const text = await response?.text().catch(() => undefined)
    if (response?.status === 202 && text !== undefined) {
      // Safe because the service answers batches in the shape of its contract.
      const { id } = JSON.parse(text) as BatchView
      return { account, id, emails, sentMs, takenMs: performance.now() }
    }
    const mayComeLater = response === undefined || [409, 429, 500, 503].includes(response.status)
    if (!mayComeLater || performance.now() > until) {
      throw new Error(`a batch was answered ${response?.status}: ${text}`)
    }
    await wait(AGAIN_MS)
  }
}
