import { ERASED_VALUES_MAX, ERASURE_PAGE } from './erasure.ts'
import {
  answer,
  ANY,
  headers,
  jsonBody,
  pageParameters,
  POSTING,
  ref,
  refusals,
  type Part,
} from './openapi-parts.ts'

const tags = ['privacy']

/** The OpenAPI paths of export and erasure. */
export function erasurePaths(): Part {
  return {
    '/v1/erase': { get: list(), post: erase() },
    '/v1/export': { get: exportAll() },
    '/v1/erase/{id}': {
      get: {
        tags,
        operationId: 'readErasure',
        summary: 'The receipt of an erasure, with counts by store',
        parameters: [ref('parameters', 'ErasureId')],
        responses: {
          200: answer('The receipt.', 'Erasure'),
          ...refusals([...ANY, 'bad_request', 'not_found']),
        },
      },
    },
  }
}

function list(): Part {
  return {
    tags,
    operationId: 'listErasures',
    summary: 'Receipts of erasures, newest first',
    parameters: pageParameters(ERASURE_PAGE),
    responses: { 200: answer('A page.', 'ErasurePage'), ...refusals([...ANY, 'bad_request']) },
  }
}

function erase(): Part {
  return {
    tags,
    operationId: 'erase',
    summary: 'Erase values from all that is stored for the account',
    description: `Up to ${ERASED_VALUES_MAX} values: addresses, numbers, IPs and domains, each as itself and not within another. They are removed from batches, results, stored responses, cached facts, purchases and messages to webhooks within 24 hours; the credits of the account stay. A test key erases data of test keys only; of signed-in users, only owners can erase.`,
    parameters: [ref('parameters', 'IdempotencyKey')],
    requestBody: jsonBody('EraseRequest'),
    responses: {
      202: answer('The erasure, on its way.', 'Erasure', ['Location', 'IdempotentReplayed']),
      ...refusals([...POSTING, 'payload_too_large', 'unsupported_media_type']),
    },
  }
}

function exportAll(): Part {
  return {
    tags,
    operationId: 'exportAccount',
    summary: 'All that is stored for the account, as a ZIP file',
    description:
      'JSON and NDJSON files in one archive: the account, its people, keys, ledger, webhooks and their messages, erasures, and of each batch what it is, its upload and its rows with their results. Secrets are not in it. A test key gets data of test keys only.',
    responses: {
      200: {
        description: 'The archive, written as it is read.',
        headers: headers(['ContentDisposition']),
        content: { 'application/zip': { schema: { type: 'string', format: 'binary' } } },
      },
      ...refusals([...ANY, 'bad_request']),
    },
  }
}
