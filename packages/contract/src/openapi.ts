import { z } from 'zod'
import { accountView } from './account.ts'
import {
  batchBody,
  MAPPED_FIELDS,
  RESULT_FILTERS,
  RESULT_FORMATS,
  uploadFields,
} from './batch-request.ts'
import { batchPage, batchView } from './batch-view.ts'
import { explainShape } from './explain.ts'
import { magicTable } from './magic.ts'
import { PROBLEMS, type ProblemCode } from './problem.ts'
import { CHECKS, PRODUCTS, type Product } from './products.ts'
import { REQUESTS } from './requests.ts'
import { RESULTS } from './results.ts'

type Part = { readonly [key: string]: unknown }

/** The description of every path of the service. OpenAPI 3.1.1; made from the shapes themselves. */
export function openApiDocument(): Part {
  return {
    openapi: '3.1.1',
    info: {
      title: 'Contact data lookup service',
      version: '1',
      summary: 'Validates and enriches emails, phone numbers, IP addresses and domains.',
      description: description(),
    },
    servers: [{ url: '/' }],
    security: [{ key: [] }],
    tags: [
      { name: 'lookups', description: 'One record, answered at once.' },
      { name: 'batches', description: 'Lists of records, worked on in the background.' },
      { name: 'account', description: 'Plan, credits and limits.' },
      { name: 'service', description: 'State and description of the service itself.' },
    ],
    paths: {
      ...Object.fromEntries(
        PRODUCTS.map((product) => [`/v1/${product}`, { post: lookUp(product) }]),
      ),
      ...ACCOUNT_PATHS,
      ...batchPaths(),
      ...SERVICE_PATHS,
    },
    components: {
      securitySchemes: {
        key: { type: 'http', scheme: 'bearer', description: '`svc_live_...` or `svc_test_...`.' },
      },
      schemas: schemas(),
      parameters: PARAMETERS,
      headers: HEADERS,
      responses: problemResponses(),
    },
  }
}

function description(): string {
  const tables = CHECKS.map((check) => {
    const rows = magicTable(check).map(({ value, brings }) => `| \`${value}\` | ${brings} |`)
    return [`### ${check}`, '', '| value | answer |', '|---|---|', ...rows].join('\n')
  })
  return [
    'Errors are `{"error", "message"}` and nothing else. A path that is not here answers 404, another method 405.',
    '`"explain": true` in the body of a lookup adds how each part of the answer is known.',
    '## Test keys',
    'A test key answers from the values below, asks nobody and takes no credits; any other value gets the good verdict.',
    ...tables,
  ].join('\n\n')
}

function lookUp(product: Product): Part {
  return {
    tags: ['lookups'],
    operationId: camel(`look-up-${product}`),
    summary: SUMMARIES[product],
    parameters: [ref('parameters', 'IdempotencyKey')],
    requestBody: {
      required: true,
      content: { 'application/json': { schema: ref('schemas', `${pascal(product)}Request`) } },
    },
    responses: {
      200: answer('The result.', `${pascal(product)}Result`, ['IdempotentReplayed']),
      ...refusals([...SPENDING, 'timeout']),
    },
  }
}

const SUMMARIES: Readonly<Record<Product, string>> = {
  email: 'Validate an email address (1 credit)',
  ip: 'Look up an IP address (1 credit)',
  phone: 'Look up a phone number and its carrier (2 credits)',
  domain: 'Look up a domain name (2 credits)',
  deliverability: 'Check deliverability in depth (1 to 3 credits)',
  'contact-intel': 'Collect facts about a contact (1 to 4 credits)',
  'fraud-signals': 'Score the fraud risk of a contact (1 to 5 credits)',
}

/** What any call with a key may be refused for. */
const ANY: readonly ProblemCode[] = [
  'unauthorized',
  'forbidden',
  'too_many_requests',
  'internal',
  'unavailable',
]
const POSTING: readonly ProblemCode[] = [...ANY, 'bad_request', 'conflict', 'unprocessable']
const SPENDING: readonly ProblemCode[] = [
  ...POSTING,
  'payment_required',
  'payload_too_large',
  'unsupported_media_type',
]

const ACCOUNT_PATHS: Part = {
  '/v1/account': {
    get: {
      tags: ['account'],
      operationId: 'readAccount',
      summary: 'Plan, credits and limits',
      responses: { 200: answer('The account.', 'Account'), ...refusals(ANY) },
    },
  },
}

function batchPaths(): Part {
  const id = [ref('parameters', 'BatchId')]
  const once = [...id, ref('parameters', 'IdempotencyKey')]
  const tags = ['batches']
  return {
    '/v1/batches': {
      get: {
        ...{ tags, operationId: 'listBatches', summary: 'Batches, newest first' },
        parameters: [
          query('limit', { type: 'integer', minimum: 1, maximum: 100, default: 20 }),
          query('cursor', { type: 'string' }),
        ],
        responses: { 200: answer('A page.', 'BatchPage'), ...refusals([...ANY, 'bad_request']) },
      },
      post: {
        ...{ tags, operationId: 'createBatch', summary: 'Submit a list, as a file or as records' },
        parameters: [ref('parameters', 'IdempotencyKey')],
        requestBody: {
          required: true,
          content: {
            'multipart/form-data': { schema: ref('schemas', 'BatchUpload') },
            'application/json': { schema: ref('schemas', 'BatchRecords') },
          },
        },
        responses: {
          202: answer('The batch, on its way.', 'Batch', ['Location', 'IdempotentReplayed']),
          ...refusals(SPENDING),
        },
      },
    },
    '/v1/batches/{id}': {
      get: {
        ...{ tags, operationId: 'readBatch', summary: 'One batch', parameters: id },
        responses: { 200: answer('The batch.', 'Batch'), ...refusals([...ANY, 'not_found']) },
      },
      delete: {
        ...{ tags, operationId: 'deleteBatch', summary: 'Erase a batch', parameters: id },
        responses: {
          204: { description: 'Erased with its file and results.', headers: headers([]) },
          ...refusals([...ANY, 'not_found', 'conflict']),
        },
      },
    },
    '/v1/batches/{id}/start': {
      post: {
        ...{ tags, operationId: 'startBatch', summary: 'Run a ready batch', parameters: once },
        responses: {
          200: answer('The batch, running.', 'Batch', ['IdempotentReplayed']),
          ...refusals([...POSTING, 'payment_required', 'not_found']),
        },
      },
    },
    '/v1/batches/{id}/cancel': {
      post: {
        ...{ tags, operationId: 'cancelBatch', summary: 'Cancel a batch', parameters: once },
        responses: {
          200: answer('The batch, canceling.', 'Batch', ['IdempotentReplayed']),
          ...refusals([...POSTING, 'not_found']),
        },
      },
    },
    '/v1/batches/{id}/events': { get: events(id) },
    '/v1/batches/{id}/results': { get: results(id) },
  }
}

function events(parameters: readonly Part[]): Part {
  return {
    tags: ['batches'],
    operationId: 'watchBatch',
    summary: 'Progress as server-sent events',
    description: 'Events `batch` with the batch as data, and `end` when it has stopped.',
    parameters,
    responses: {
      200: {
        description: 'The stream.',
        headers: headers([]),
        content: { 'text/event-stream': { schema: { type: 'string' } } },
      },
      ...refusals([...ANY, 'not_found']),
    },
  }
}

function results(parameters: readonly Part[]): Part {
  return {
    tags: ['batches'],
    operationId: 'readResults',
    summary: 'The result file, or what is done so far',
    parameters: [
      ...parameters,
      query('format', { type: 'string', enum: RESULT_FORMATS, default: 'csv' }),
      query('only', {
        type: 'string',
        description: `Parted by commas: ${RESULT_FILTERS.join(', ')}.`,
      }),
      query('after', {
        type: 'integer',
        minimum: 0,
        description: 'Number of the last row that is known.',
      }),
      query('raw', {
        type: 'string',
        enum: ['0', '1'],
        description: 'CSV cells as they came, formulas included.',
      }),
    ],
    responses: {
      200: {
        description: 'The rows, in the order of the list.',
        headers: headers(['ContentDisposition', 'ResultsComplete']),
        content: {
          'text/csv': { schema: { type: 'string' } },
          'application/x-ndjson': { schema: { type: 'string' } },
        },
      },
      ...refusals([...ANY, 'bad_request', 'not_found', 'conflict']),
    },
  }
}

const SERVICE_PATHS: Part = {
  '/healthz': {
    get: open('readHealth', 'Whether the process answers', 'Status', []),
  },
  '/readyz': {
    get: open('readReadiness', 'Whether calls are taken', 'Status', ['unavailable']),
  },
  '/openapi.json': {
    get: open('readOpenApi', 'This description', 'OpenApi', []),
  },
}

function open(
  operationId: string,
  summary: string,
  schema: string,
  codes: readonly ProblemCode[],
): Part {
  return {
    tags: ['service'],
    operationId,
    summary,
    security: [],
    responses: {
      200: {
        description: 'The answer.',
        headers: { 'X-Request-Id': ref('headers', 'RequestId') },
        content: { 'application/json': { schema: ref('schemas', schema) } },
      },
      ...refusals(codes),
    },
  }
}

/** Names of headers as they are sent, by their name among the components. */
const HEADER_NAMES = {
  RequestId: 'X-Request-Id',
  CreditsCharged: 'X-Credits-Charged',
  CreditsRemaining: 'X-Credits-Remaining',
  RateLimit: 'RateLimit',
  RateLimitPolicy: 'RateLimit-Policy',
  RetryAfter: 'Retry-After',
  IdempotentReplayed: 'Idempotent-Replayed',
  Location: 'Location',
  ContentDisposition: 'Content-Disposition',
  ResultsComplete: 'X-Results-Complete',
} as const
type HeaderName = keyof typeof HEADER_NAMES

const HEADERS: Readonly<Record<HeaderName, Part>> = {
  RequestId: header('Names this request; give it when asking for help.', { type: 'string' }),
  CreditsCharged: header('Credits that this call took.', { type: 'integer' }),
  CreditsRemaining: header('Credits that the account can spend.', { type: 'integer' }),
  RateLimit: header('Calls left and seconds until all are back.', { type: 'string' }),
  RateLimitPolicy: header('Calls at once and the seconds in which they come back.', {
    type: 'string',
  }),
  RetryAfter: header('Seconds after which to try again.', { type: 'integer' }),
  IdempotentReplayed: header('The answer of the first call with this key.', {
    type: 'string',
    const: 'true',
  }),
  Location: header('Path of the batch.', { type: 'string' }),
  ContentDisposition: header('Name of the file.', { type: 'string' }),
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

const PARAMETERS: Part = {
  BatchId: {
    name: 'id',
    in: 'path',
    required: true,
    schema: { type: 'string', pattern: '^bat_[A-Za-z0-9]+$' },
  },
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      'Makes the call take effect once: a repeat within 24 hours gets the first 2xx answer and is not charged.',
    schema: { type: 'string', minLength: 1, maxLength: 255 },
  },
}

function header(text: string, schema: Part): Part {
  return { description: text, schema }
}

function headers(more: readonly HeaderName[]): Part {
  return Object.fromEntries(
    [...ACCOUNT_HEADERS, ...more].map((name) => [HEADER_NAMES[name], ref('headers', name)]),
  )
}

function query(name: string, schema: Part): Part {
  return { name, in: 'query', schema }
}

function answer(text: string, schema: string, more: readonly HeaderName[] = []): Part {
  return {
    description: text,
    headers: headers(more),
    content: { 'application/json': { schema: ref('schemas', schema) } },
  }
}

function refusals(codes: readonly ProblemCode[]): Part {
  return Object.fromEntries(
    codes.map((code) => [PROBLEMS[code].status, ref('responses', pascal(code))]),
  )
}

function problemResponses(): Part {
  return Object.fromEntries(
    codesOfProblems().map((code) => {
      const retry: readonly HeaderName[] =
        code === 'too_many_requests' || code === 'unavailable' ? ['RetryAfter'] : []
      return [pascal(code), answer(PROBLEMS[code].error, 'Problem', retry)]
    }),
  )
}

function codesOfProblems(): readonly ProblemCode[] {
  // The keys of a constant table are exactly its declared ones.
  return Object.keys(PROBLEMS) as ProblemCode[]
}

function schemas(): Part {
  const problem = z.strictObject({
    error: z.enum(Object.values(PROBLEMS).map(({ error }) => error)),
    message: z.string().meta({ description: 'What to do, in one sentence.' }),
  })
  return {
    ...Object.fromEntries(
      PRODUCTS.flatMap((product) => [
        [`${pascal(product)}Request`, jsonSchema(REQUESTS[product])],
        [`${pascal(product)}Result`, explained(jsonSchema(RESULTS[product]))],
      ]),
    ),
    Explain: jsonSchema(explainShape),
    Account: jsonSchema(accountView),
    Batch: jsonSchema(batchView),
    BatchPage: jsonSchema(batchPage),
    BatchRecords: jsonSchema(batchBody),
    BatchUpload: uploadSchema(),
    Problem: jsonSchema(problem),
    Status: { type: 'object', properties: { status: { type: 'string' } }, required: ['status'] },
    OpenApi: { type: 'object' },
  }
}

function explained(schema: Part): Part {
  return {
    ...schema,
    properties: { ...asPart(schema['properties']), explain: ref('schemas', 'Explain') },
  }
}

/** A form's fields are text; `mapping` is JSON in one of them. */
function uploadSchema(): Part {
  const { properties, ...rest } = jsonSchema(uploadFields)
  const file = {
    type: 'string',
    contentMediaType: 'application/octet-stream',
    description: 'csv, tsv, txt or ndjson, each also gzipped.',
  }
  const mapping = {
    type: 'string',
    contentMediaType: 'application/json',
    description: `JSON object from ${MAPPED_FIELDS.join(', ')} to a header name or a 0-based column number.`,
  }
  return {
    ...rest,
    properties: { file, ...asPart(properties), mapping },
    required: ['file', 'product'],
  }
}

function jsonSchema(shape: z.ZodType): Part {
  const { $schema: _, ...schema } = z.toJSONSchema(shape, { io: 'input', target: 'draft-2020-12' })
  return schema
}

/** A schema's `properties` is an object of schemas. */
function asPart(value: unknown): Part {
  return value as Part
}

function ref(kind: string, name: string): Part {
  return { $ref: `#/components/${kind}/${name}` }
}

function pascal(name: string): string {
  return name.replaceAll(/(?:^|[-_])([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

function camel(name: string): string {
  return name.replaceAll(/[-_]([a-z])/g, (_, letter: string) => letter.toUpperCase())
}
