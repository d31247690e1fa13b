import { DELIMITER_NAMES } from './delimiters.ts'
import { ENCODINGS } from './encodings.ts'
import { COMPARISON_FORMATS } from './comparison.ts'
import { ANY, headers, query, ref, refusals, type Part } from './openapi-parts.ts'
import { REFUSED_FORMATS, RESULT_FILTERS, RESULT_FORMATS } from './results-request.ts'

const WORKBOOK = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'
const FILE: Part = { schema: { type: 'string', contentMediaType: 'application/octet-stream' } }
const TEXT: Part = { schema: { type: 'string' } }

const FILTERS = [
  `verdicts ${RESULT_FILTERS.verdicts.join(', ')}`,
  `row statuses ${RESULT_FILTERS.statuses.join(', ')}`,
  `advices ${RESULT_FILTERS.advices.join(', ')}`,
  'reason codes such as mailbox_full',
].join('; ')

/** `GET /v1/batches/{id}/results`. */
export function results(parameters: readonly Part[]): Part {
  return {
    tags: ['batches'],
    operationId: 'readResults',
    summary: 'The result file, or what is done so far',
    description:
      'Rows say beside their result what to do with them: `result.advice`, `result.why`, `result.suggestion`. A finished CSV file has an `ETag` and takes `Range`, `If-Range` and `If-None-Match`.',
    parameters: [
      ...parameters,
      formatParameter(RESULT_FORMATS),
      query('only', {
        type: 'string',
        description: `Separated by commas; a row of any of them is shown: ${FILTERS}. Verdicts are those that the batch counts: email statuses, for fraud-signals risk levels, none for phone, ip and domain.`,
      }),
      query('columns', {
        type: 'string',
        description:
          'Columns of a table in their order, separated by commas; a name with a comma is quoted: names as in the full file, 0-based numbers of your own, `input` for all of yours, `result` for all of ours.',
      }),
      query('after', {
        type: 'integer',
        minimum: 0,
        description:
          'Number of the last row that is known; row 1 is the first record. CSV rows are counted by the client; where this is above 0, CSV has no header line. Where it is given, 0 too, the rows end before the first that is not known; else such rows stand as `waiting`.',
      }),
      ...csvParameters(),
    ],
    responses: {
      200: answered('The rows, in the order of the list.'),
      206: answered('The bytes of a finished CSV file that `Range` asked for.'),
      304: { description: 'The file is the one of `If-None-Match`.', headers: headers(['ETag']) },
      ...refusals([...ANY, 'bad_request', 'not_found', 'conflict', 'range_not_satisfiable']),
    },
  }
}

/** `GET /v1/batches/{id}/refused`. */
export function refusedRows(parameters: readonly Part[]): Part {
  return {
    tags: ['batches'],
    operationId: 'readRefused',
    summary: 'The rows that were refused, each with its number and what is wrong with it',
    description: 'There as soon as the batch is read, also before it starts.',
    parameters: [...parameters, formatParameter(REFUSED_FORMATS), ...csvParameters()],
    responses: {
      200: answered('The rows as they came, then `result.row` and `result.error`.'),
      ...refusals([...ANY, 'bad_request', 'not_found', 'conflict']),
    },
  }
}

/** `GET /v1/batches/{id}/compare`. */
export function compared(parameters: readonly Part[]): Part {
  return {
    tags: ['batches'],
    operationId: 'compareBatches',
    summary: 'What has changed between two batches of the same records',
    description: 'As a summary, or row by row. Rows are matched by what they ask, in their order.',
    parameters: [
      ...parameters,
      { ...query('with', { type: 'string', pattern: '^bat_[A-Za-z0-9]+$' }), required: true },
      query('format', { type: 'string', enum: COMPARISON_FORMATS, default: 'json' }),
      query('all', {
        type: 'string',
        enum: ['0', '1'],
        default: '0',
        description: 'Also rows of which nothing has changed.',
      }),
    ],
    responses: {
      200: {
        description: 'The summary, or the rows.',
        headers: headers(['ContentDisposition']),
        content: {
          'application/json': { schema: ref('schemas', 'BatchComparison') },
          'text/csv': TEXT,
          'application/x-ndjson': TEXT,
        },
      },
      ...refusals([...ANY, 'bad_request', 'not_found', 'conflict']),
    },
  }
}

function answered(description: string): Part {
  return {
    description,
    headers: headers(['ContentDisposition', 'ResultsComplete', 'AcceptRanges', 'ETag']),
    content: {
      'text/csv': TEXT,
      'application/x-ndjson': TEXT,
      [WORKBOOK]: FILE,
      'application/zip': FILE,
    },
  }
}

function formatParameter(formats: readonly string[]): Part {
  return query('format', {
    type: 'string',
    enum: formats,
    default: 'csv',
    description:
      'What `explain` asks for is in NDJSON only. A workbook (xlsx) holds 1,048,575 rows; zip holds a CSV file for each advice.',
  })
}

function csvParameters(): readonly Part[] {
  const mark = { type: 'string', enum: ['0', '1'], default: '0' }
  return [
    query('raw', { ...mark, description: 'CSV cells as they came, formulas included.' }),
    query('delimiter', { type: 'string', enum: [...DELIMITER_NAMES.keys()], default: ',' }),
    query('bom', { ...mark, description: 'A byte order mark in front; not together with `sep`.' }),
    query('sep', { ...mark, description: 'A first line that names the delimiter to Excel.' }),
    query('encoding', {
      type: 'string',
      examples: ENCODINGS,
      default: 'utf-8',
      description:
        'Of CSV, for old tools, in any usual spelling; what it lacks is written as a question mark.',
    }),
  ]
}
