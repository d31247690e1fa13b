import { ConnectionError, RefusedError } from './refused.ts'
import { randomName } from './web-crypto.ts'

/** Address of the service, the API key, and options of the connection. */
export interface ConnectionOptions {
  /**
   * Address of the service, for example `http://127.0.0.1:8080`; empty for the host of the page.
   */
  readonly baseUrl: string
  /**
   * The API key; absent in a page of the service itself, which calls with the session of the
   * signed-in user.
   */
  readonly key?: string
  /**
   * Time-out of each attempt of a call in milliseconds; default 30,000. File transfers have none.
   */
  readonly timeoutMs?: number
  /**
   * Attempts after the first, if the connection broke or the service responded 429, 502, 503 or
   * 504; default 2. Each waits as long as `Retry-After` says, else a quarter of a second, doubled
   * each time.
   */
  readonly retries?: number
  /** Used instead of the global `fetch`. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>
}

/** Options of every call. */
export interface CallOptions {
  readonly signal?: AbortSignal
  /**
   * Key with which a POST takes effect once. The client generates one for each call, for its own
   * retries; set one if another process may repeat the call.
   */
  readonly idempotencyKey?: string
}

/** A body that is created for each attempt; `once` if it cannot be created again. */
export interface Body {
  readonly once?: boolean
  make(): FormData | { readonly type: string; readonly stream: ReadableStream<Uint8Array> }
}

/** One call as it is sent. */
export interface Call extends CallOptions {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly json?: unknown
  readonly body?: Body
  /** Headers in addition to those of every call. */
  readonly headers?: Readonly<Record<string, string>>
  /** The response is a file or a stream and has no time-out. */
  readonly endless?: boolean
  /** Seconds that the service may wait before it responds; added to the time-out. */
  readonly waitSeconds?: number
}

/** Calls of one service with one key. */
export interface Connection {
  readonly retries: number
  /** Sends a call and resolves with its 2xx response. @throws RefusedError, ConnectionError */
  send(call: Call): Promise<Response>
  /** Sends a call and resolves with the JSON of its response, whose shape the contract promises. */
  json<T>(call: Call): Promise<T>
  /** Sends a call and resolves with its response, a file without a time-out, and its body. */
  file(call: Call): Promise<{
    readonly headers: Headers
    readonly body: ReadableStream<Uint8Array>
  }>
}

/** A `Retry-After` longer than this is not waited for. */
const RETRY_AFTER_MAX_SECONDS = 60
/** Milliseconds before the first retry if the service names no delay. */
const FIRST_WAIT_MS = 250

/** Statuses after which the same call may succeed later. */
const TEMPORARY: readonly number[] = [429, 502, 503, 504]

/** Opens a connection; sends nothing yet. */
export function openConnection(options: ConnectionOptions): Connection {
  const { baseUrl, key, timeoutMs = 30_000, retries = 2, fetch: send = fetch } = options
  const base = baseUrl.replace(/\/+$/, '')

  async function attempt<T>(call: Call, read: (response: Response) => Promise<T>): Promise<T> {
    const isTransfer = call.endless === true || call.body !== undefined
    const limitMs = isTransfer ? undefined : timeoutMs + (call.waitSeconds ?? 0) * 1_000
    const limit = withinTime(limitMs, call.signal)
    try {
      const response = await send(`${base}${call.path}`, {
        method: call.method,
        // The key must go to no other address than the one that it was given for.
        redirect: 'manual',
        ...(key === undefined ? { credentials: 'same-origin' as const } : {}),
        ...(limit.signal === undefined ? {} : { signal: limit.signal }),
        ...headersAndBody(call, key),
      })
      if (!response.ok) throw await RefusedError.of(response)
      return await read(response)
    } catch (error) {
      if (error instanceof RefusedError) throw error
      call.signal?.throwIfAborted()
      throw new ConnectionError(`The service could not be reached: ${reasonOf(error)}.`, {
        cause: error,
      })
    } finally {
      limit.end()
    }
  }

  async function sent<T>(asked: Call, read: (response: Response) => Promise<T>): Promise<T> {
    const call = asked.method === 'POST' ? await withKey(asked) : asked
    const most = call.body?.once === true ? 0 : retries
    for (let tries = 0; ; tries += 1) {
      try {
        return await attempt(call, read)
      } catch (error) {
        const waitMs = tries < most ? waitBefore(error, call, tries) : undefined
        if (waitMs === undefined) throw error
        await sleep(waitMs, call.signal)
      }
    }
  }

  return {
    retries,
    send: (call) => sent(call, async (response) => response),
    json: <T>(call: Call) =>
      // Safe because the shapes of responses are the contract's, and the service is tested to keep
      // them.
      sent(call, async (response) => JSON.parse(await response.text()) as T),
    file: async (call) => {
      const { headers, body } = await sent({ ...call, endless: true }, async (response) => response)
      if (body === null) throw new Error('the service answered without a body')
      return { headers, body }
    },
  }
}

async function withKey(call: Call): Promise<Call> {
  return call.idempotencyKey === undefined ? { ...call, idempotencyKey: await randomName() } : call
}

/** Milliseconds to wait before a failed call is retried; undefined if it should not be. */
function waitBefore(error: unknown, call: Call, tries: number): number | undefined {
  // Spread, so that many clients do not retry at the same moment after an outage.
  const backoffMs = FIRST_WAIT_MS * 2 ** tries * (0.5 + Math.random())
  if (error instanceof ConnectionError) {
    return error.cause instanceof SyntaxError ? undefined : backoffMs
  }
  if (!(error instanceof RefusedError)) return undefined
  const { status, retryAfterSeconds: seconds } = error
  // 409 with a time: an earlier try of this very call is still running.
  const isRunning = status === 409 && seconds !== undefined && call.idempotencyKey !== undefined
  if (!TEMPORARY.includes(status) && !isRunning) return undefined
  if (seconds === undefined) return backoffMs
  return seconds > RETRY_AFTER_MAX_SECONDS ? undefined : seconds * 1_000
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error instanceof SyntaxError) return 'its answer is not JSON'
  const { cause } = error
  return cause instanceof Error && cause.message !== '' ? cause.message : error.message
}

function headersAndBody(
  call: Call,
  key: string | undefined,
): {
  headers: Record<string, string>
  body?: string | FormData | ReadableStream<Uint8Array>
  duplex?: 'half'
} {
  const headers: Record<string, string> = {
    ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
    ...call.headers,
    ...(call.idempotencyKey === undefined ? {} : { 'idempotency-key': call.idempotencyKey }),
  }
  if (call.json !== undefined) {
    headers['content-type'] = 'application/json'
    return { headers, body: JSON.stringify(call.json) }
  }
  const body = call.body?.make()
  if (body === undefined) return { headers }
  if (body instanceof FormData) return { headers, body }
  headers['content-type'] = body.type
  return { headers, body: body.stream, duplex: 'half' }
}

interface TimeLimit {
  readonly signal: AbortSignal | undefined
  end(): void
}

/** A signal that aborts with the caller's, or after a time. `AbortSignal.any` is not in Node 18. */
function withinTime(ms: number | undefined, signal: AbortSignal | undefined): TimeLimit {
  if (ms === undefined) return { signal, end: () => undefined }
  const limit = new AbortController()
  const onAbort = (): void => limit.abort(signal?.reason)
  if (signal?.aborted === true) onAbort()
  signal?.addEventListener('abort', onAbort, { once: true })
  const timer = setTimeout(
    () => limit.abort(new DOMException(`no answer within ${ms} ms`, 'TimeoutError')),
    ms,
  )
  return {
    signal: limit.signal,
    end: () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
    },
  }
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

/** A query string of the defined values, with its question mark; empty without any. */
export function queryOf(values: Readonly<Record<string, string | number | undefined>>): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined && value !== '') query.set(name, String(value))
  }
  const text = query.toString()
  return text === '' ? '' : `?${text}`
}
