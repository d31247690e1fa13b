/** Details of a response with another status than 2xx. */
interface Refusal {
  readonly status: number
  readonly error: string
  readonly message: string
  readonly requestId: string | undefined
  readonly retryAfterSeconds: number | undefined
}

/** A response with another status than 2xx, with the service's error message. */
export class RefusedError extends Error {
  override readonly name: string = 'RefusedError'
  readonly status: number
  /** Reason phrase, for example `Payment Required`. */
  readonly error: string
  /** `X-Request-Id`: identifies the call in the service's log. */
  readonly requestId: string | undefined
  readonly retryAfterSeconds: number | undefined

  constructor(facts: Refusal) {
    super(facts.message)
    this.status = facts.status
    this.error = facts.error
    this.requestId = facts.requestId
    this.retryAfterSeconds = facts.retryAfterSeconds
  }

  /**
   * Makes the error of a response, of the class for its status; if the body is not the service's,
   * with its first 2,000 characters.
   */
  static async of(response: Response): Promise<RefusedError> {
    const text = (await response.text()).slice(0, 2_000)
    const { error, message } = wordsOf(text)
    const retry = Number(response.headers.get('retry-after') ?? Number.NaN)
    const { status } = response
    return new (CLASSES[status] ?? RefusedError)({
      status,
      error: error ?? response.statusText,
      message: message ?? `The service answered ${status}: ${text}`,
      requestId: response.headers.get('x-request-id') ?? undefined,
      retryAfterSeconds: Number.isFinite(retry) ? retry : undefined,
    })
  }
}

/** 400, 413, 415, 416, 422: the call is invalid, and repeating it changes nothing. */
export class BadRequestError extends RefusedError {
  override readonly name = 'BadRequestError'
}

/** 401: the key is missing, unknown or revoked. */
export class UnauthorizedError extends RefusedError {
  override readonly name = 'UnauthorizedError'
}

/** 402: the credits are not sufficient. */
export class PaymentRequiredError extends RefusedError {
  override readonly name = 'PaymentRequiredError'
}

/** 403: the account or its plan may not do this. */
export class ForbiddenError extends RefusedError {
  override readonly name = 'ForbiddenError'
}

/** 404: the object does not exist, or belongs to another account. */
export class NotFoundError extends RefusedError {
  override readonly name = 'NotFoundError'
}

/** 409: the state of the object does not allow this. */
export class ConflictError extends RefusedError {
  override readonly name = 'ConflictError'
}

/** 429: too many calls, also after the client's own retries. */
export class TooManyRequestsError extends RefusedError {
  override readonly name = 'TooManyRequestsError'
}

/** 500, 502, 503, 504: the service could not answer; its message says whether nothing was charged. */
export class UnavailableError extends RefusedError {
  override readonly name = 'UnavailableError'
}

const CLASSES: Readonly<Record<number, typeof RefusedError>> = {
  400: BadRequestError,
  401: UnauthorizedError,
  402: PaymentRequiredError,
  403: ForbiddenError,
  404: NotFoundError,
  409: ConflictError,
  413: BadRequestError,
  415: BadRequestError,
  416: BadRequestError,
  422: BadRequestError,
  429: TooManyRequestsError,
  500: UnavailableError,
  502: UnavailableError,
  503: UnavailableError,
  504: UnavailableError,
}

/**
 * There was no complete response: the service could not be reached, took too long, or the
 * connection broke; see `cause`.
 */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError'
}

function wordsOf(text: string): { error: string | undefined; message: string | undefined } {
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    body = null
  }
  const word = (name: 'error' | 'message'): string | undefined => {
    if (typeof body !== 'object' || body === null) return undefined
    const value: unknown = Reflect.get(body, name)
    return typeof value === 'string' ? value : undefined
  }
  return { error: word('error'), message: word('message') }
}
