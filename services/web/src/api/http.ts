import { STEP_UP_HEADER } from '@plumbline/contract/app/paths'
import { shownAccountHeader } from './shown-account.ts'

/** A failed call: refused by the service, or without a response. */
export class RefusedCall extends Error {
  override readonly name = 'RefusedCall'
  /** HTTP status; 0 if there was no response. */
  readonly status: number
  /** Seconds after which to retry, if the service says so. */
  readonly retryAfterSeconds: number | null
  /** Whether the service requires the second factor first. */
  readonly needsStepUp: boolean

  constructor(
    status: number,
    message: string,
    more: { readonly retryAfterSeconds?: number | null; readonly needsStepUp?: boolean } = {},
  ) {
    super(message)
    this.status = status
    this.retryAfterSeconds = more.retryAfterSeconds ?? null
    this.needsStepUp = more.needsStepUp ?? false
  }
}

/** Message if there was no response to a read, which is repeated. */
export const UNREACHABLE =
  'The service cannot be reached. Check the connection; nothing is lost, and this page tries again.'

/** Message if there was no response to a change, which may have been made all the same. */
const UNANSWERED =
  'The service cannot be reached, or its response was lost, so that the change may have been made. Check the ' +
  'connection, and load the page again before you repeat it.'

/** Time-out of a call in ms, unless the call has its own. */
const ANSWER_WITHIN_MS = 60_000

/** Options of a call besides method, path and body. */
export interface JsonCallOptions {
  readonly signal?: AbortSignal | undefined
  readonly headers?: Readonly<Record<string, string>>
  /** Time-out in ms. */
  readonly withinMs?: number
}

/**
 * Calls the service with this browser's session; a body is sent as JSON, a response without one is
 * `undefined`. Rejects with `RefusedCall`, or with the reason of `signal`.
 */
export async function callJson<T>(
  method: string,
  path: string,
  body?: unknown,
  options: JsonCallOptions = {},
): Promise<T> {
  const { response, text } = await send(method, path, body, options)
  if (!response.ok)
    throw refusalOf(path, response.status, text, response.headers, unansweredBy(method))
  // Safe because the service that served this page answers in the shapes of the contract, which its
  // own tests hold it to; reading them a second time here would cost every visitor the reader.
  return (text === '' ? undefined : JSON.parse(text)) as T
}

async function send(
  method: string,
  path: string,
  body: unknown,
  { signal, headers = {}, withinMs = ANSWER_WITHIN_MS }: JsonCallOptions,
): Promise<{ readonly response: Response; readonly text: string }> {
  const within = AbortSignal.timeout(withinMs)
  try {
    const response = await fetch(path, {
      method,
      credentials: 'same-origin',
      signal: signal === undefined ? within : AbortSignal.any([signal, within]),
      headers: {
        Accept: 'application/json',
        ...(method === 'GET' ? {} : shownAccountHeader()),
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return { response, text: await response.text() }
  } catch {
    signal?.throwIfAborted()
    throw new RefusedCall(0, unansweredBy(method))
  }
}

function unansweredBy(method: string): string {
  return method === 'GET' ? UNREACHABLE : UNANSWERED
}

/** Message if the session has ended while the page was open, in another window for example. */
const SESSION_ENDED =
  'Your session has ended. Sign in again; in another window of this browser if you want to keep what you have ' +
  'entered here.'

/**
 * The error of a response with a status of 400 or more to a call of `path`; the page of a proxy in
 * between is not shown, but `otherwise`.
 */
export function refusalOf(
  path: string,
  status: number,
  text: string,
  headers: Headers,
  otherwise = UNREACHABLE,
): RefusedCall {
  const seconds = Number(headers.get('Retry-After'))
  const retryAfterSeconds = Number.isFinite(seconds) && seconds > 0 ? seconds : null
  // Without its cookie the browser is a program without a key there.
  const isEnded = status === 401 && path.startsWith('/v1/')
  const said = (isEnded ? SESSION_ENDED : messageOf(text)) ?? `${otherwise} (${status})`
  const requestId = headers.get('X-Request-Id')
  // A person has no header to look at.
  const message = said
    .replace('the seconds of Retry-After', `${retryAfterSeconds ?? 'a few'} seconds`)
    .replace('the X-Request-Id', requestId === null ? 'its time' : `request ${requestId}`)
  return new RefusedCall(status, message, {
    retryAfterSeconds,
    needsStepUp: headers.get(STEP_UP_HEADER) === 'required',
  })
}

function messageOf(text: string): string | null {
  try {
    // Safe because what it holds is looked at before it is used.
    const { message } = JSON.parse(text) as { readonly message?: unknown }
    return typeof message === 'string' && message !== '' ? message : null
  } catch {
    return null
  }
}

/** The message for any thrown error. */
export function sentenceOf(error: unknown): string {
  if (error instanceof RefusedCall) return error.message
  return 'Something went wrong on this page. Reload it; nothing that was stored is lost.'
}
