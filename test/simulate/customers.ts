import type { BatchView } from '@plumbline/contract/batch-view'
import { CHECKS, type Check } from '@plumbline/contract/products'
import { fileOf } from './batch-rows.ts'
import {
  subjectOf,
  type PlannedBatch,
  type PlannedCall,
  type PlannedChange,
  type Repeat,
} from './plan.ts'
import type { ReachedApi } from './service.ts'
import type { VirtualTime } from './virtual-time.ts'

/** A simulated account. */
export interface SimulatedAccount {
  readonly id: string
  readonly key: string
  readonly credits: number
}

/** Times of the requests for one batch or call, as the customer measured them. */
interface RequestTimes {
  /** Whether the `Idempotency-Key` may have expired between two requests, by the database's clock. */
  isKeyExpired: boolean
  /** Virtual milliseconds until the response to the slowest request. */
  longestMs: number
}

/** A batch as the customer knows it from responses. */
export interface SubmittedBatch extends RequestTimes {
  readonly planned: PlannedBatch
  readonly no: number
  readonly account: SimulatedAccount
  /** Undefined until the service has accepted the batch. */
  id: string | undefined
  /** Whether the customer has asked to cancel or pause it. */
  isChanged: boolean
  /** Whether the customer has asked to cancel it. */
  isCanceled: boolean
}

/** A single call as the customer knows it; without a status if there was no response. */
export interface SubmittedCall extends RequestTimes {
  readonly account: SimulatedAccount
  readonly planned: PlannedCall
  status: number | undefined
  /** Credits according to the response. */
  credits: number
}

/** Simulated customers, with their batches and calls. */
export interface Customers {
  readonly batches: SubmittedBatch[]
  readonly calls: SubmittedCall[]
  submit(batch: PlannedBatch): Promise<void>
  /** Submits batches again that the service no longer knows after a failover, and repeats each cancel. */
  repeatLost(): Promise<void>
  call(call: PlannedCall): Promise<void>
  change(change: PlannedChange): Promise<void>
  /** Calls each running API for each check until all answer; returns those that never did. */
  callEach(untilMs: number): Promise<readonly string[]>
  /** Resumes a paused batch, each time with a new request. */
  resume(batch: SubmittedBatch): Promise<void>
  /** Sends one request with an account's key, without an `Idempotency-Key`. */
  request(
    account: SimulatedAccount,
    method: string,
    path: string,
    body?: unknown,
  ): Promise<CustomerResponse>
}

/** A response; null if no API could be reached or the connection broke. */
export type CustomerResponse = {
  readonly status: number
  readonly text: string
  readonly headers: Headers
} | null

/** Virtual milliseconds for which a customer retries a request. */
const RETRY_FOR_MS = 120_000
/** Minimum attempts: a lost connection is given up after real seconds, in which virtual minutes may pass. */
const MIN_ATTEMPTS = 3
const RETRY_MS = 1_000
/** Attempts to read a batch. */
const READ_ATTEMPTS = 60

/** Milliseconds for which the service stores an `Idempotency-Key`, minus an hour. */
const KEY_MS = 23 * 3_600_000

/** A request with an `Idempotency-Key`, and how it is repeated. */
interface RepeatedRequest {
  readonly key: string
  readonly about?: RequestTimes | undefined
  readonly repeat?: Repeat
  readonly body?: (() => unknown) | undefined
}

/** Dependencies of customers on the world. */
export interface CustomerOptions {
  /** The APIs that are listening. */
  readonly apis: () => readonly ReachedApi[]
  /** The database's current time, in milliseconds. */
  readonly momentMs: () => number
  /** Called with each refused request, for the trace. */
  readonly note: (event: object) => void
}

/** Makes the customers of a world. */
export function createCustomers(
  time: VirtualTime,
  accounts: readonly SimulatedAccount[],
  { apis, momentMs, note }: CustomerOptions,
): Customers {
  const batches: SubmittedBatch[] = []
  const calls: SubmittedCall[] = []
  let turn = 0
  let resumes = 0

  const accountAt = (at: number): SimulatedAccount => {
    const account = accounts[at]
    if (account === undefined) throw new Error(`no account ${at}`)
    return account
  }

  async function send(
    account: SimulatedAccount,
    method: string,
    path: string,
    init: { body?: unknown; headers?: Record<string, string>; of?: readonly ReachedApi[] } = {},
  ): Promise<CustomerResponse> {
    const known = init.of ?? apis()
    const api = known[turn++ % Math.max(1, known.length)]
    if (api === undefined) return null
    const { body } = init
    try {
      const response = await fetch(`${api.url}${path}`, {
        method,
        signal: api.gone,
        headers: {
          authorization: `Bearer ${account.key}`,
          ...(body === undefined || body instanceof FormData
            ? {}
            : { 'content-type': 'application/json' }),
          ...init.headers,
        },
        ...(body === undefined
          ? {}
          : { body: body instanceof FormData ? body : JSON.stringify(body) }),
      })
      const text = await response.text()
      if (!response.ok) note({ refused: `${method} ${path}`, status: response.status, text })
      return { status: response.status, text, headers: response.headers }
    } catch {
      return null
    }
  }

  async function timed(
    about: RequestTimes | undefined,
    ask: () => Promise<CustomerResponse>,
  ): Promise<CustomerResponse> {
    const beganMs = time.nowMs()
    const asked = await ask()
    if (about !== undefined && asked !== null) {
      about.longestMs = Math.max(about.longestMs, time.nowMs() - beganMs)
    }
    return asked
  }

  /** Sends a request as planned: once, twice concurrently, or again after its response, with the same key. */
  async function sendRepeated(
    account: SimulatedAccount,
    path: string,
    { key, about, repeat = 'none', body }: RepeatedRequest,
  ): Promise<CustomerResponse> {
    const firstMs = momentMs()
    const attempt = (): Promise<CustomerResponse> =>
      sendUntilAnswered(account, path, { key, about, body, firstMs })
    if (repeat === 'concurrent') return (await Promise.all([attempt(), attempt()]))[0]
    if (repeat === 'response_lost') await attempt()
    return await attempt()
  }

  async function sendUntilAnswered(
    account: SimulatedAccount,
    path: string,
    { key, about, body, firstMs }: RepeatedRequest & { readonly firstMs: number },
  ): Promise<CustomerResponse> {
    const until = time.nowMs() + RETRY_FOR_MS
    for (let attempts = 1; ; attempts += 1) {
      const headers = { 'idempotency-key': key }
      const asked = await timed(about, () =>
        send(account, 'POST', path, { body: body?.() ?? {}, headers }),
      )
      if (about !== undefined && momentMs() - firstMs > KEY_MS) about.isKeyExpired = true
      if (asked !== null && asked.status < 500 && ![409, 429].includes(asked.status)) return asked
      if (asked?.status === 409 && !asked.text.includes('dempotency')) return asked
      if (time.nowMs() > until && attempts >= MIN_ATTEMPTS) return asked
      await time.wait(RETRY_MS)
    }
  }

  async function submit(submitted: SubmittedBatch, repeat: Repeat): Promise<void> {
    const { account, no, planned } = submitted
    const asked = await sendRepeated(account, '/v1/batches', {
      key: `batch-${no}`,
      about: submitted,
      repeat,
      body: () => {
        const form = new FormData()
        form.set('product', planned.product)
        if (planned.special === 'no_retention') form.set('retention_days', '0')
        form.set('file', new Blob([fileOf(planned, no)]), `list ${no}.csv`)
        return form
      },
    })
    if (asked?.status === 202) submitted.id = viewIn(asked.text).id
  }

  /** Whether the service says that it does not know a batch. */
  async function isLost({ account, id }: SubmittedBatch): Promise<boolean> {
    if (id === undefined) return false
    for (let attempts = 1; ; attempts += 1) {
      const asked = await send(account, 'GET', `/v1/batches/${id}`)
      if (asked !== null && asked.status < 500) return asked.status === 404
      if (attempts >= READ_ATTEMPTS) return false
      await time.wait(RETRY_MS)
    }
  }

  /** Repeats a call of one API until it is answered; returns whether it was. */
  async function isAnswered(api: ReachedApi, check: Check, untilMs: number): Promise<boolean> {
    const account = accountAt(0)
    const subject = subjectOf(check, `last${calls.length}`)
    for (let attempts = 1; ; attempts += 1) {
      const atMs = time.nowMs()
      const planned: PlannedCall = {
        kind: 'call',
        atMs,
        account: 0,
        check,
        subject,
        repeat: 'none',
      }
      const made = newCall(account, planned)
      calls.push(made)
      const body = { [check]: subject }
      const asked = await send(account, 'POST', `/v1/${productOf(check)}`, { body, of: [api] })
      made.status = asked?.status
      if (asked !== null && asked.status < 500 && asked.status !== 429) return true
      if (time.nowMs() > untilMs && attempts >= MIN_ATTEMPTS) return false
      await time.wait(RETRY_MS)
    }
  }

  return {
    batches,
    calls,
    request: (account, method, path, body) => send(account, method, path, { body }),
    async submit(planned) {
      const account = accountAt(planned.account)
      const no = batches.length
      const submitted: SubmittedBatch = {
        planned,
        no,
        account,
        id: undefined,
        longestMs: 0,
        isChanged: false,
        isCanceled: false,
        isKeyExpired: false,
      }
      batches.push(submitted)
      await submit(submitted, planned.repeat)
    },
    async repeatLost() {
      await Promise.all(
        batches.map(async (submitted) => {
          if (await isLost(submitted)) await submit(submitted, 'none')
          const { account, id, isCanceled } = submitted
          if (!isCanceled || id === undefined) return
          const key = `${id}-cancel-after-failover`
          await sendRepeated(account, `/v1/batches/${id}/cancel`, { key })
        }),
      )
    },
    async call(planned) {
      const account = accountAt(planned.account)
      const made = newCall(account, planned)
      calls.push(made)
      const body = { [planned.check]: planned.subject }
      const path = `/v1/${productOf(planned.check)}`
      const { repeat } = planned
      const asked =
        repeat === 'none'
          ? await timed(made, () => send(account, 'POST', path, { body }))
          : await sendRepeated(account, path, {
              key: `call-${calls.length}`,
              about: made,
              repeat,
              body: () => body,
            })
      if (asked === null) return
      made.status = asked.status
      made.credits = Number(asked.headers.get('x-credits-charged') ?? 0)
    },
    async callEach(untilMs) {
      const asked = apis().flatMap((api, at) =>
        CHECKS.map(async (check) =>
          (await isAnswered(api, check, untilMs)) ? [] : [`${check} by API ${at}`],
        ),
      )
      return (await Promise.all(asked)).flat()
    },
    async resume({ account, id }) {
      const key = `${id}-resume-at-last-${++resumes}`
      await sendRepeated(account, `/v1/batches/${id}/resume`, { key })
    },
    async change({ batch, change, again }) {
      const found = batches[batch]
      if (found === undefined) return
      const until = time.nowMs() + RETRY_FOR_MS
      while (found.id === undefined && time.nowMs() < until) await time.wait(RETRY_MS)
      if (found.id === undefined) return
      found.isChanged = true
      if (change === 'cancel') found.isCanceled = true
      const path = `/v1/batches/${found.id}/${change}`
      const times = again ? 2 : 1
      await Promise.all(
        Array.from({ length: times }, (_, at) =>
          sendRepeated(found.account, path, { key: `${found.id}-${change}-${at}` }),
        ),
      )
    },
  }
}

function newCall(account: SimulatedAccount, planned: PlannedCall): SubmittedCall {
  return { account, planned, status: undefined, longestMs: 0, credits: 0, isKeyExpired: false }
}

function productOf(check: Check): string {
  return check
}

/** Safe because the service answers in the shape of its contract. */
function viewIn(text: string): BatchView {
  return JSON.parse(text) as BatchView
}
