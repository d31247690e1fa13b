import { accountPaths } from './openapi-account.ts'
import { batchPaths } from './openapi-batches.ts'
import { erasurePaths } from './openapi-erasure.ts'
import { withExamples } from './openapi-examples.ts'
import {
  answer,
  ANY,
  camel,
  HEADERS,
  jsonBody,
  PARAMETERS,
  type Part,
  pascal,
  problemResponses,
  query,
  ref,
  refusals,
  SPENDING,
} from './openapi-parts.ts'
import { schemas } from './openapi-schemas.ts'
import { webhookPaths } from './openapi-webhooks.ts'
import { LOOKUP_KEPT_DAYS, LOOKUP_WAIT_SECONDS } from './lookup.ts'
import type { ProblemCode } from './problem.ts'
import { PRODUCTS, type Product } from './products.ts'

/**
 * The OpenAPI 3.1.1 document of every path of the service, generated from the shapes.
 * @param testKeys its section about test keys, in Markdown
 */
export function openApiDocument(testKeys: string): Part {
  return {
    openapi: '3.1.1',
    info: {
      title: 'Contact data lookup service',
      version: '1',
      summary: 'Validates and enriches emails, phone numbers, IP addresses and domains.',
      description: DESCRIPTION,
      license: { name: 'All rights reserved', identifier: 'LicenseRef-proprietary' },
    },
    servers: [{ url: '/' }],
    security: [{ key: [] }],
    tags: [
      { name: 'lookups', description: 'One record, answered at once.' },
      { name: 'batches', description: 'Files or records, processed in the background.' },
      { name: 'webhooks', description: 'Messages to your endpoints when something happens.' },
      { name: 'privacy', description: 'Exporting all that is stored, erasing values from it.' },
      { name: 'account', description: 'Plan, credits and limits.' },
      { name: 'service', description: 'State and description of the service itself.' },
      // After the tags that have paths: a reader from the top finds first call and paths first.
      { name: 'test keys', description: testKeys },
    ],
    paths: withExamples({
      ...Object.fromEntries(
        PRODUCTS.map((product) => [`/v1/${product}`, { post: lookUp(product) }]),
      ),
      '/v1/lookups/{id}': { get: readLookup() },
      ...accountPaths(),
      ...batchPaths(),
      ...webhookPaths(),
      ...erasurePaths(),
      ...servicePaths(),
    }),
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

/** Introduction of the document: how to make a first call. */
const DESCRIPTION = [
  'Make a key in the app under API keys, and send it with each call:',
  [
    '```',
    'curl https://HOST/v1/email \\',
    '  -H "Authorization: Bearer svc_live_..." \\',
    '  -H "Content-Type: application/json" \\',
    `  -d '{"email": "ada@example.com"}'`,
    '```',
  ].join('\n'),
  'Errors are `{"error", "message"}` and nothing else, and the message says what to do. A path that is not here answers 404, another method 405.',
  '`"explain": true` in the body of a lookup adds how each part of the answer is known. An `Idempotency-Key` makes a call that is sent twice count once. `X-Credits-Remaining` tells what is left.',
  'A test key answers from fixed values and costs nothing; they are listed after the paths.',
].join('\n\n')

function lookUp(product: Product): Part {
  return {
    tags: ['lookups'],
    operationId: camel(`look-up-${product}`),
    summary: SUMMARIES[product],
    parameters: [ref('parameters', 'IdempotencyKey'), ref('parameters', 'Prefer')],
    requestBody: jsonBody(`${pascal(product)}Request`),
    responses: {
      200: answer('The result.', `${pascal(product)}Result`, ['IdempotentReplayed']),
      202: answer('With `Prefer: respond-async`: the lookup, on its way.', 'Lookup', [
        'Location',
        'IdempotentReplayed',
      ]),
      ...refusals([...SPENDING, 'timeout']),
    },
  }
}

function readLookup(): Part {
  return {
    tags: ['lookups'],
    operationId: 'readLookup',
    summary: `A lookup that answers later; kept ${LOOKUP_KEPT_DAYS} days`,
    parameters: [
      ref('parameters', 'LookupId'),
      query('wait', {
        type: 'integer',
        minimum: 0,
        maximum: LOOKUP_WAIT_SECONDS,
        default: 0,
        description: 'Seconds to wait for its end.',
      }),
    ],
    responses: {
      200: answer('The lookup, with `result` or `error` once it has ended.', 'Lookup'),
      ...refusals([...ANY, 'bad_request', 'not_found']),
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

function servicePaths(): Part {
  return {
    '/healthz': {
      get: open('readHealth', 'Whether the process answers', 'Status', ['bad_request']),
    },
    '/readyz': {
      get: open('readReadiness', 'Whether calls are taken', 'Status', [
        'bad_request',
        'unavailable',
      ]),
    },
    '/openapi.json': {
      get: open('readOpenApi', 'This description', 'OpenApi', ['bad_request']),
    },
  }
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
