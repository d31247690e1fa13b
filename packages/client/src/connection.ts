import { RefusedError } from './refused.ts'

/** Where the service is, and whose key speaks. */
export interface ConnectionOptions {
  /** Address of the service, for example `http://127.0.0.1:8080`. */
  readonly baseUrl: string
  readonly key: string
  /** Milliseconds until a call without an answer is given up; 30,000 by default. Transfers of files have none. */
  readonly timeoutMs?: number
  /** Tries after a refusal that says when to come again (429, 503), by waiting as long; 2 by default. */
  readonly retries?: number
  /** Stands in for the global `fetch`. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>
}

/** What any call takes. */
export interface CallOptions {
  readonly signal?: AbortSignal
  /** Makes a POST take effect once; chosen by the caller so that a repeat by another process is the same call. */
  readonly idempotencyKey?: string
}

/** One call as it is sent. */
export interface Call extends CallOptions {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  readonly json?: unknown
  readonly form?: FormData
  /** Answers that are files or streams may take as long as they take. */
  readonly endless?: boolean
}

/** Calls of one service with one key. */
export interface Connection {
  /** The answer as it came, once its status is 2xx. */
  send(call: Call): Promise<Response>
  /** The body of an answer, which the service promises to be of this shape. */
  json<T>(call: Call): Promise<T>
}

/** How long a service may tell a client to wait before the client gives up instead. */
const RETRY_AFTER_MAX_SECONDS = 60

/** Opens a connection; sends nothing yet. */
export function openConnection(options: ConnectionOptions): Connection {
  const { baseUrl, key, timeoutMs = 30_000, retries = 2, fetch: send = fetch } = options
  const base = baseUrl.replace(/\/+$/, '')

  async function once(call: Call): Promise<Response> {
    const timeout = call.endless === true || call.form !== undefined ? [] : [timeoutMs]
    const signals = [
      ...timeout.map((ms) => AbortSignal.timeout(ms)),
      ...(call.signal === undefined ? [] : [call.signal]),
    ]
    return await send(`${base}${call.path}`, {
      method: call.method,
      headers: headersOf(call, key),
      ...(signals.length === 0 ? {} : { signal: AbortSignal.any(signals) }),
      ...bodyOf(call),
    })
  }

  async function sent(call: Call): Promise<Response> {
    for (let attempt = 0; ; attempt += 1) {
      const response = await once(call)
      if (response.ok) return response
      const refused = await RefusedError.of(response)
      const seconds = refused.retryAfterSeconds
      const waits = refused.status === 429 || refused.status === 503
      if (!waits || attempt >= retries || seconds === undefined) throw refused
      if (seconds > RETRY_AFTER_MAX_SECONDS) throw refused
      await sleep(seconds * 1_000, call.signal)
    }
  }

  return {
    send: sent,
    json: async <T>(call: Call) => {
      const response = await sent(call)
      // The shapes of answers are the contract's, and the service is tested to keep them.
      return (await response.json()) as T
    },
  }
}

function headersOf(call: Call, key: string): Record<string, string> {
  return {
    authorization: `Bearer ${key}`,
    ...(call.json === undefined ? {} : { 'content-type': 'application/json' }),
    ...(call.idempotencyKey === undefined ? {} : { 'idempotency-key': call.idempotencyKey }),
  }
}

function bodyOf(call: Call): { body?: string | FormData } {
  if (call.form !== undefined) return { body: call.form }
  return call.json === undefined ? {} : { body: JSON.stringify(call.json) }
}

/** Waits, and rejects when the signal aborts. */
export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted()
  await new Promise<void>((resolve, reject) => {
    const onAbort = (): void => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    }, ms)
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}
