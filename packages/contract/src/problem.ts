/** Closed codes of refusals, each with its HTTP status and reason phrase. Source: decision 8. */
export const PROBLEMS = {
  bad_request: { status: 400, error: 'Bad Request' },
  unauthorized: { status: 401, error: 'Unauthorized' },
  payment_required: { status: 402, error: 'Payment Required' },
  forbidden: { status: 403, error: 'Forbidden' },
  not_found: { status: 404, error: 'Not Found' },
  method_not_allowed: { status: 405, error: 'Method Not Allowed' },
  conflict: { status: 409, error: 'Conflict' },
  payload_too_large: { status: 413, error: 'Payload Too Large' },
  unsupported_media_type: { status: 415, error: 'Unsupported Media Type' },
  range_not_satisfiable: { status: 416, error: 'Range Not Satisfiable' },
  unprocessable: { status: 422, error: 'Unprocessable Content' },
  too_many_requests: { status: 429, error: 'Too Many Requests' },
  internal: { status: 500, error: 'Internal Server Error' },
  unavailable: { status: 503, error: 'Service Unavailable' },
  timeout: { status: 504, error: 'Gateway Timeout' },
} as const

/** Code of a refusal. */
export type ProblemCode = keyof typeof PROBLEMS

/**
 * Messages of refusals that a test key can ask for too. Source of the wording of 402: spec.md 7.
 */
export const MESSAGES = {
  payment_required:
    'The credits of this account do not suffice; top up with an add-on pack or upgrade the plan.',
  too_many_requests: 'Too many calls at once; come again after the seconds of Retry-After.',
  internal:
    'Something went wrong here and nothing was charged; try again, and name the X-Request-Id if it stays.',
  unavailable:
    'The service cannot answer at the moment and nothing was charged; try again shortly.',
  timeout: 'The call took too long and was not charged; send it again.',
} as const satisfies Partial<Record<ProblemCode, string>>

/** Message of 402 where the balance suffices, but not what the account allows itself for a day. */
export const DAILY_LIMIT_REACHED =
  'The daily spending limit that this account has set itself is reached; raise it in the settings of the account, or try again tomorrow.'

/** The limit that a refusal is about, for the operator's metrics. */
export type RefusalLimit =
  | 'rate'
  | 'failed_keys'
  | 'unpaid_responses'
  | 'calls_of_account'
  | 'calls_of_process'
  | 'requests_of_account'
  | 'slow_share'
  | 'workers'
  | 'queue_away'

/**
 * A refusal: `message` is public, says what to do and holds no internals; `cause` is for the log.
 */
export class Problem extends Error {
  override readonly name = 'Problem'
  readonly code: ProblemCode
  /** Seconds until a retry makes sense; sent as `Retry-After`. */
  readonly retryAfterSeconds: number | undefined
  /**
   * Whether a test key requested the refusal: nothing is wrong, so it is not logged as an error.
   */
  readonly isRehearsed: boolean
  /**
   * The limit that the refusal is about; undefined if it is about none, or one that is counted by
   * the code alone.
   */
  readonly limit: RefusalLimit | undefined

  constructor(
    code: ProblemCode,
    message: string,
    options?: {
      cause?: unknown
      retryAfterSeconds?: number
      isRehearsed?: boolean
      limit?: RefusalLimit
    },
  ) {
    super(message, options)
    this.code = code
    this.retryAfterSeconds = options?.retryAfterSeconds
    this.isRehearsed = options?.isRehearsed ?? false
    this.limit = options?.limit
  }

  get status(): number {
    return PROBLEMS[this.code].status
  }
}
