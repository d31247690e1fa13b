import { PROBLEMS, type ProblemCode } from './problem.ts'

/** A part of the OpenAPI document. */
export type Part = { readonly [key: string]: unknown }

/** Refusals of any call with a key. */
export const ANY: readonly ProblemCode[] = [
  'unauthorized',
  'forbidden',
  'too_many_requests',
  'internal',
  'unavailable',
]
/** Refusals of a POST with a key. */
export const POSTING: readonly ProblemCode[] = [...ANY, 'bad_request', 'conflict', 'unprocessable']
/** Refusals of a call that spends credits. */
export const SPENDING: readonly ProblemCode[] = [
  ...POSTING,
  'payment_required',
  'payload_too_large',
  'unsupported_media_type',
]

/** Names of headers as they are sent, by their name among the components. */
const HEADER_NAMES = {
  RequestId: 'X-Request-Id',
  CreditsCharged: 'X-Credits-Charged',
  CreditsRemaining: 'X-Credits-Remaining',
  RateLimit: 'RateLimit',
  RateLimitPolicy: 'RateLimit-Policy',
  RetryAfter: 'Retry-After',
  Authenticate: 'WWW-Authenticate',
  IdempotentReplayed: 'Idempotent-Replayed',
  Location: 'Location',
  ContentDisposition: 'Content-Disposition',
  ResultsComplete: 'X-Results-Complete',
  AcceptRanges: 'Accept-Ranges',
  ETag: 'ETag',
} as const
type HeaderName = keyof typeof HEADER_NAMES

/** The headers as OpenAPI components. */
export const HEADERS: Readonly<Record<HeaderName, Part>> = {
  RequestId: header('Names this request; give it when asking for help.', { type: 'string' }),
  CreditsCharged: header('Credits that this call took.', { type: 'integer' }),
  CreditsRemaining: header('Credits that the account can spend.', { type: 'integer' }),
  RateLimit: header('Calls left and seconds until all are back.', { type: 'string' }),
  RateLimitPolicy: header('Calls at once and the seconds in which they come back.', {
    type: 'string',
  }),
  Authenticate: header('How to send the key.', { type: 'string', const: 'Bearer' }),
  RetryAfter: header('Seconds after which to try again.', { type: 'integer' }),
  IdempotentReplayed: header('The answer of the first call with this key.', {
    type: 'string',
    const: 'true',
  }),
  Location: header('Path of what was made.', { type: 'string' }),
  ContentDisposition: header('Name of the file.', { type: 'string' }),
  AcceptRanges: header('Whether `Range` is taken: for a finished CSV file.', {
    type: 'string',
    enum: ['bytes', 'none'],
  }),
  ETag: header('Names the bytes of a finished CSV file.', { type: 'string' }),
  ResultsComplete: header('Whether every row is there.', {
    type: 'string',
    enum: ['true', 'false'],
  }),
}

const ACCOUNT_HEADERS: readonly HeaderName[] = [
  'RequestId',
  'CreditsCharged',
  'CreditsRemaining',
  'RateLimit',
  'RateLimitPolicy',
]

/** Parameters that several paths share, as components. */
export const PARAMETERS: Part = {
  BatchId: idInPath('id', 'bat'),
  LookupId: idInPath('id', 'lkp'),
  Prefer: {
    name: 'Prefer',
    in: 'header',
    description:
      '`respond-async` (RFC 7240): answers 202 at once; the result is available later at `Location`, which suits mail hosts that greylist.',
    schema: { type: 'string' },
  },
  WebhookId: idInPath('id', 'whk'),
  ErasureId: idInPath('id', 'ers'),
  DeliveryId: idInPath('delivery', 'dlv'),
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      'Makes the call take effect once: a repeat within 24 hours gets the first 2xx answer and is not charged, also when no credits are left. The keys of calls that cost nothing are limited by day; beyond it a new one is 429.',
    schema: { type: 'string', minLength: 1, maxLength: 255 },
  },
}

function idInPath(name: string, prefix: string): Part {
  return {
    name,
    in: 'path',
    required: true,
    schema: { type: 'string', pattern: `^${prefix}_[A-Za-z0-9]+$` },
  }
}

function header(text: string, schema: Part): Part {
  return { description: text, schema }
}

/** The headers of a response to a known account, and further ones. */
export function headers(more: readonly HeaderName[]): Part {
  return headersNamed([...ACCOUNT_HEADERS, ...more])
}

function headersNamed(names: readonly HeaderName[]): Part {
  return Object.fromEntries(names.map((name) => [HEADER_NAMES[name], ref('headers', name)]))
}

/** A parameter of the query; optional. */
export function query(name: string, schema: Part): Part {
  return { name, in: 'query', schema }
}

/** The parameters of a page of a listing. */
export function pageParameters(
  { default: fallback, max }: { readonly default: number; readonly max: number },
  about: Part = {},
): readonly Part[] {
  return [
    query('limit', { type: 'integer', minimum: 1, maximum: max, default: fallback, ...about }),
    query('cursor', { type: 'string' }),
  ]
}

/** A request body in JSON of one of the shapes. */
export function jsonBody(schema: string): Part {
  return {
    required: true,
    content: { 'application/json': { schema: ref('schemas', schema) } },
  }
}

/** A response in JSON of one of the shapes. */
export function answer(text: string, schema: string, more: readonly HeaderName[] = []): Part {
  return {
    description: text,
    headers: headers(more),
    content: { 'application/json': { schema: ref('schemas', schema) } },
  }
}

/** The refusals of a path, by status. */
export function refusals(codes: readonly ProblemCode[]): Part {
  return Object.fromEntries(
    codes.map((code) => [PROBLEMS[code].status, ref('responses', pascal(code))]),
  )
}

/** Refusals that are sent before the account is known, and so without the headers of an account. */
const TOLD_TO_ANYONE: readonly ProblemCode[] = ['unauthorized']

/** Headers of certain refusals only. */
const MORE_HEADERS: Partial<Record<ProblemCode, readonly HeaderName[]>> = {
  unauthorized: ['Authenticate'],
  too_many_requests: ['RetryAfter'],
  unavailable: ['RetryAfter'],
  conflict: ['RetryAfter'],
}

/** Every refusal of an operation, as components; 405 belongs to none. */
export function problemResponses(): Part {
  const codes = codesOfProblems().filter((code) => code !== 'method_not_allowed')
  return Object.fromEntries(
    codes.map((code) => [
      pascal(code),
      { ...answer(PROBLEMS[code].error, 'Problem'), headers: headersNamed(headersOf(code)) },
    ]),
  )
}

function headersOf(code: ProblemCode): readonly HeaderName[] {
  const first = TOLD_TO_ANYONE.includes(code) ? (['RequestId'] as const) : ACCOUNT_HEADERS
  return [...first, ...(MORE_HEADERS[code] ?? [])]
}

function codesOfProblems(): readonly ProblemCode[] {
  // The keys of a constant table are exactly its declared ones.
  return Object.keys(PROBLEMS) as ProblemCode[]
}

/** A reference to a component. */
export function ref(kind: string, name: string): Part {
  return { $ref: `#/components/${kind}/${name}` }
}

/** `fraud-signals` as `FraudSignals`. */
export function pascal(name: string): string {
  return name.replaceAll(/(?:^|[-_])([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

/** `look-up-email` as `lookUpEmail`. */
export function camel(name: string): string {
  return name.replaceAll(/[-_]([a-z])/g, (_, letter: string) => letter.toUpperCase())
}
