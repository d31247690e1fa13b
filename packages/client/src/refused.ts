/** A response of another status than 2xx, with the service's error message. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError'
  readonly status: number
  /** Reason phrase, for example `Payment Required`. */
  readonly error: string
  /** `X-Request-Id`; names the call in the service's log. */
  readonly requestId: string | undefined
  readonly retryAfterSeconds: number | undefined

  constructor(facts: {
    status: number
    error: string
    message: string
    requestId: string | undefined
    retryAfterSeconds: number | undefined
  }) {
    super(facts.message)
    this.status = facts.status
    this.error = facts.error
    this.requestId = facts.requestId
    this.retryAfterSeconds = facts.retryAfterSeconds
  }

  /** Reads a refusal from a response; of a body that is not the service's, the first 2,000 characters. */
  static async of(response: Response): Promise<RefusedError> {
    const text = (await response.text()).slice(0, 2_000)
    const { error, message } = wordsOf(text)
    const retry = Number(response.headers.get('retry-after') ?? Number.NaN)
    return new RefusedError({
      status: response.status,
      error: error ?? response.statusText,
      message: message ?? `The service answered ${response.status}: ${text}`,
      requestId: response.headers.get('x-request-id') ?? undefined,
      retryAfterSeconds: Number.isFinite(retry) ? retry : undefined,
    })
  }
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
