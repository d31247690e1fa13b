import { LEDGER_PAGE } from './ledger.ts'
import {
  answer,
  ANY,
  headers,
  pageParameters,
  query,
  ref,
  refusals,
  type Part,
} from './openapi-parts.ts'
import { USAGE_DAYS_MAX, USAGE_PARTS } from './usage.ts'

const tags = ['account']

/** The OpenAPI paths about an account's data, usage and credits. */
export function accountPaths(): Part {
  return {
    '/v1/account': {
      get: {
        tags,
        operationId: 'readAccount',
        summary: 'Plan, credits and limits',
        responses: { 200: answer('The account.', 'Account'), ...refusals(ANY) },
      },
    },
    '/v1/usage': { get: usage() },
    '/v1/ledger': { get: ledger() },
    '/v1/plans': {
      get: {
        tags,
        operationId: 'listPlans',
        summary: 'Plans and packs with their prices, and whom to ask for them',
        responses: {
          200: answer('What is offered.', 'Offers'),
          ...refusals([...ANY, 'bad_request']),
        },
      },
    },
    '/v1/keys': {
      get: {
        tags,
        operationId: 'listKeys',
        summary: 'API keys, newest first',
        description: 'Keys are made and revoked in the web app or by the operator.',
        responses: {
          200: answer('Every key the account has had; never the keys themselves.', 'KeyList'),
          ...refusals([...ANY, 'bad_request']),
        },
      },
    },
  }
}

const FORMAT = query('format', { type: 'string', enum: ['json', 'csv'], default: 'json' })

function usage(): Part {
  return {
    tags,
    operationId: 'readUsage',
    summary: 'Operations and credits by day, product and source',
    description: `Days are those of the time zone of the account; at most ${USAGE_DAYS_MAX} at once.`,
    parameters: [
      query('from', {
        type: 'string',
        format: 'date',
        description: 'By default 29 days before `to`.',
      }),
      query('to', { type: 'string', format: 'date', description: 'Included; by default today.' }),
      query('by', {
        type: 'string',
        default: 'day',
        description: `Separated by commas: ${USAGE_PARTS.join(', ')}.`,
      }),
      FORMAT,
    ],
    responses: {
      200: asFile('What was used.', 'Usage'),
      ...refusals([...ANY, 'bad_request']),
    },
  }
}

function ledger(): Part {
  return {
    tags,
    operationId: 'readLedger',
    summary: 'Moves of credits, newest first, with the balance after each',
    parameters: [
      ...pageParameters(LEDGER_PAGE, { description: 'As JSON; CSV has all there are.' }),
      FORMAT,
    ],
    responses: {
      200: asFile('A page.', 'LedgerPage'),
      ...refusals([...ANY, 'bad_request']),
    },
  }
}

/** A response in JSON of one of the shapes, or as CSV. */
function asFile(text: string, schema: string): Part {
  return {
    description: text,
    headers: headers(['ContentDisposition']),
    content: {
      'application/json': { schema: ref('schemas', schema) },
      'text/csv': { schema: { type: 'string' } },
    },
  }
}
