import { answer, jsonBody, POSTING, refusals, SPENDING, type Part } from './openapi-parts.ts'

const tags = ['batches']

/** The OpenAPI paths of recheck and rescore, which make a batch from an ended one. */
export function derivedPaths(parameters: readonly Part[]): Part {
  const posted = (
    operationId: string,
    [summary, description]: readonly [string, string],
    schema: string,
    refused: Part,
  ): Part => ({
    post: {
      tags,
      operationId,
      summary,
      description,
      parameters,
      requestBody: jsonBody(schema),
      responses: {
        202: answer('The new batch, on its way.', 'Batch', ['Location', 'IdempotentReplayed']),
        ...refused,
      },
    },
  })
  return {
    '/v1/batches/{id}/recheck': posted(
      'recheckBatch',
      [
        'Check some rows of a batch again, as a new batch',
        'Rows that have any of `only` (verdicts, advices, reasons, row statuses), and those that were answered more than `older_than_days` ago. Charged like any batch; with `start` as `false` a dry run, which needs no credits.',
      ],
      'BatchRecheck',
      refusals([...SPENDING, 'not_found']),
    ),
    '/v1/batches/{id}/rescore': posted(
      'rescoreBatch',
      [
        'Score the outcomes of a batch by other weights, as a new batch',
        'Nothing is queried or charged. Without `weights` by those in use now.',
      ],
      'BatchRescore',
      refusals([...POSTING, 'not_found', 'payload_too_large', 'unsupported_media_type']),
    ),
  }
}
