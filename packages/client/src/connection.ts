import { RefusedError } from './refused.ts'

/** Where the service is, and the API key of its account. */
export interface ConnectionOptions {
  /** Address of the service, for example `http://127.0.0.1:8080`. */
  readonly baseUrl: string
  readonly key: string
  /** Time-out of a call in milliseconds; 30,000 by default. Transfers of files have none. */
  readonly timeoutMs?: number
  /** Retries after 429 or 503 with `Retry-After`, each after waiting as long as that says; 2 by default. */
  readonly retries?: number
  /** Used instead of the global `fetch`. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>
}

/** Options of every call. */
export interface CallOptions {
  readonly signal?: AbortSignal
  /** Makes a POST take effect once; chosen by the caller so that a repeat by another process is the same call. */
  readonly idempotencyKey?: string
}

/** One call as it is sent. */
export interface Call extends CallOptions {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly json?: unknown
  readonly form?: FormData
  /** Sent beside those that every call has. */
  readonly headers?: Readonly<Record<string, string>>
  /** The response is a file or a stream and has no time-out. */
  readonly endless?: boolean
}

/** Calls of one service with one key. */
export interface Connection {
  /** Sends a call and resolves with its 2xx response. @throws RefusedError for other statuses */
  send(call: Call): Promise<Response>
  /** Sends a call and resolves with the JSON of its response, whose shape the contract promises. */
  json<T>(call: Call): Promise<T>
}

/** A `Retry-After` longer than this is not waited for. */
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
      // Safe because the shapes of responses are the contract's, and the service is tested to keep them.
      return (await response.json()) as T
    },
  }
}

function headersOf(call: Call, key: string): Record<string, string> {
  return {
    authorization: `Bearer ${key}`,
    ...call.headers,
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

/** A query of the values that are there, with its question mark; empty without any. */
export function queryOf(values: Readonly<Record<string, string | number | undefined>>): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined && value !== '') query.set(name, String(value))
  }
  return query.size === 0 ? '' : `?${query.toString()}`
}
