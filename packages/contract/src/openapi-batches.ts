import { BATCH_STATES, PAUSED_DAYS } from './batch.ts'
import { SAMPLE } from './batch-sample.ts'
import { BATCH_PAGE, BATCH_SEARCH_MAX_CHARS } from './batch-view.ts'
import { KNOWN } from './vendors.ts'
import {
  answer,
  ANY,
  headers,
  jsonBody,
  pageParameters,
  POSTING,
  query,
  ref,
  refusals,
  SPENDING,
  type Part,
} from './openapi-parts.ts'
import { derivedPaths } from './openapi-derived.ts'
import { compared, refusedRows, results } from './openapi-results.ts'
import type { ProblemCode } from './problem.ts'

const tags = ['batches']

/** The OpenAPI paths of batches. */
export function batchPaths(): Part {
  const id = [ref('parameters', 'BatchId')]
  const once = [...id, ref('parameters', 'IdempotencyKey')]
  return {
    '/v1/batches': {
      get: {
        tags,
        operationId: 'listBatches',
        summary: 'Batches, newest first',
        description:
          'With `status` or `search`, a page may have fewer batches than `limit`, or none, although more follow: go on until `next_cursor` is null.',
        parameters: [
          ...pageParameters(BATCH_PAGE),
          query('status', {
            type: 'string',
            description: `States, separated by commas: ${BATCH_STATES.join(', ')}.`,
          }),
          query('search', {
            type: 'string',
            maxLength: BATCH_SEARCH_MAX_CHARS,
            description: 'A part of the name, the file name or the id, in any case.',
          }),
        ],
        responses: { 200: answer('A page.', 'BatchPage'), ...refusals([...ANY, 'bad_request']) },
      },
      post: {
        tags,
        operationId: 'createBatch',
        summary: 'Submit a batch, as a file or as records',
        description:
          'Without credits, send `start` as `false` before the file or `records`: a dry run is free.',
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
    ...batchPath(id),
    '/v1/batches/{id}/preview': { get: preview(id) },
    '/v1/batches/{id}/sample': sample(id),
    '/v1/batches/{id}/known': { get: known(id) },
    ...movePaths(once),
    ...derivedPaths(once),
    '/v1/batches/{id}/events': { get: events(id) },
    '/v1/batches/{id}/results': { get: results(id) },
    '/v1/batches/{id}/refused': { get: refusedRows(id) },
    '/v1/batches/{id}/compare': { get: compared(id) },
  }
}

function batchPath(parameters: readonly Part[]): Part {
  return {
    '/v1/batches/{id}': {
      get: {
        tags,
        operationId: 'readBatch',
        summary: 'One batch',
        parameters,
        responses: { 200: answer('The batch.', 'Batch'), ...refusals([...ANY, 'not_found']) },
      },
      patch: {
        tags,
        operationId: 'changeBatch',
        summary:
          'Change a batch before it starts: it is read again, and nothing is held until then',
        parameters,
        requestBody: jsonBody('BatchChange'),
        responses: {
          200: answer('The batch, analyzing.', 'Batch'),
          ...refusals([
            ...ANY,
            'bad_request',
            'not_found',
            'conflict',
            'payload_too_large',
            'unsupported_media_type',
          ]),
        },
      },
      delete: {
        tags,
        operationId: 'deleteBatch',
        summary: 'Erase a batch',
        parameters,
        responses: {
          204: { description: 'Erased with its file and results.', headers: headers([]) },
          ...refusals([...ANY, 'not_found', 'conflict']),
        },
      },
    },
  }
}

function preview(parameters: readonly Part[]): Part {
  return {
    tags,
    operationId: 'previewBatch',
    summary: 'What a batch holds and would cost',
    description:
      'Columns and first rows as soon as the start of the file is read; counts and cost once all of it is. Free at any balance.',
    parameters,
    responses: {
      200: answer('The preview.', 'BatchPreview'),
      ...refusals([...ANY, 'bad_request', 'not_found', 'conflict']),
    },
  }
}

function known(parameters: readonly Part[]): Part {
  return {
    tags,
    operationId: 'readKnown',
    summary: 'Where the verdicts of another service differ from what was found',
    description: `Of a batch that accepts such verdicts (\`known\`): up to ${KNOWN.askedRows} rows with one are checked all the same.`,
    parameters,
    responses: {
      200: answer('The rows that were checked, and how they compare.', 'BatchKnown'),
      ...refusals([...ANY, 'bad_request', 'not_found', 'conflict']),
    },
  }
}

function sample(parameters: readonly Part[]): Part {
  return {
    get: {
      tags,
      operationId: 'readSample',
      summary: 'The sample of a batch, and what is known of it so far',
      parameters,
      responses: {
        200: answer('The sample.', 'BatchSample'),
        ...refusals([...ANY, 'bad_request', 'not_found']),
      },
    },
    post: {
      tags,
      operationId: 'sampleBatch',
      summary: `Check up to ${SAMPLE.rows} rows of a ready batch, drawn from all of it`,
      description: `Charged as rows of the batch, and not again at its start. What is not known after ${SAMPLE.seconds} seconds counts as unknown and is not charged.`,
      parameters: [...parameters, ref('parameters', 'IdempotencyKey')],
      responses: {
        202: answer('The sample, on its way.', 'BatchSample', ['Location', 'IdempotentReplayed']),
        ...refusals([...POSTING, 'payment_required', 'not_found']),
      },
    },
  }
}

/** Changes of the state of a batch, without a body. */
function movePaths(parameters: readonly Part[]): Part {
  const move = (
    operationId: string,
    summary: string,
    what: string,
    more: readonly ProblemCode[] = [],
  ): Part => ({
    post: {
      tags,
      operationId,
      summary,
      parameters,
      responses: {
        200: answer(what, 'Batch', ['IdempotentReplayed']),
        ...refusals([...POSTING, ...more, 'not_found']),
      },
    },
  })
  return {
    '/v1/batches/{id}/start': move('startBatch', 'Run a ready batch', 'The batch, running.', [
      'payment_required',
    ]),
    '/v1/batches/{id}/cancel': move(
      'cancelBatch',
      'Cancel a batch: nothing new is begun, what is known of each record is charged',
      'The batch, canceling.',
    ),
    '/v1/batches/{id}/pause': move(
      'pauseBatch',
      `Pause a running batch: no new lookup is begun, its hold stays, and it resumes by itself after ${PAUSED_DAYS} days`,
      'The batch, paused.',
    ),
    '/v1/batches/{id}/resume': move('resumeBatch', 'Resume a paused batch', 'The batch, running.'),
  }
}

function events(parameters: readonly Part[]): Part {
  return {
    tags,
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
