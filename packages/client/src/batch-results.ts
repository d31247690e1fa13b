import type { BatchView } from '@plumbline/contract/batch-view'
import type { RecheckBody, RescoreBody } from '@plumbline/contract/batch-origin'
import type { Comparison } from '@plumbline/contract/comparison'
import type { Delimiter } from '@plumbline/contract/delimiters'
import type { ResultFormat } from '@plumbline/contract/results-request'
import { queryOf, type CallOptions, type Connection } from './connection.ts'

/** Selection and format of results. */
export interface ResultsOptions extends CallOptions {
  readonly format?: ResultFormat
  /** Verdicts, row statuses, advices or reasons; all rows if empty. */
  readonly only?: readonly string[]
  /** Only rows after this row number. */
  readonly after?: number
  /** Columns of a table, in order: names, 0-based numbers of the batch's own, `input`, `result`. */
  readonly columns?: readonly (string | number)[]
  /** Only the refused rows, each with its error; `format` and the options of CSV still apply. */
  readonly refused?: boolean
  readonly raw?: boolean
  /** Whether CSV begins with a byte order mark; not together with `sep`. */
  readonly bom?: boolean
  /** Whether the first line of CSV tells Excel the delimiter. */
  readonly sep?: boolean
  readonly delimiter?: Delimiter
  readonly encoding?: string
}

/** A result file as it is received. */
export interface Results {
  /** Whether the file has every row. */
  readonly complete: boolean
  readonly fileName: string
  readonly body: ReadableStream<Uint8Array>
}

/** Calls for the results of a batch, and for batches made from it. */
export interface ResultCalls {
  /** Compares two batches of the same records. */
  compare(id: string, other: string, options?: CallOptions): Promise<Comparison>
  /** Compares two batches row by row; `all` includes rows without a change. */
  compareRows(
    id: string,
    other: string,
    options?: CallOptions & { readonly format?: 'csv' | 'ndjson'; readonly all?: boolean },
  ): Promise<ReadableStream<Uint8Array>>
  /** Checks some rows of a batch again, as a new batch. */
  recheck(id: string, wanted: RecheckBody, options?: CallOptions): Promise<BatchView>
  /** Scores the outcomes of a batch by other weights, as a new batch; free. */
  rescore(id: string, wanted?: RescoreBody, options?: CallOptions): Promise<BatchView>
  results(id: string, options?: ResultsOptions): Promise<Results>
}

/** Makes the calls for results over a connection. */
export function resultCalls(connection: Connection): ResultCalls {
  return {
    compare: (id, other, call) =>
      connection.json({
        method: 'GET',
        path: `${batchPath(id)}/compare${queryOf({ with: other })}`,
        ...call,
      }),
    compareRows: async (id, other, { format = 'csv', all, ...call } = {}) => {
      const path = `${batchPath(id)}/compare${queryOf({ with: other, format, ...flags({ all }) })}`
      return (await connection.file({ method: 'GET', path, ...call })).body
    },
    recheck: (id, wanted, call) =>
      connection.json({ method: 'POST', path: `${batchPath(id)}/recheck`, json: wanted, ...call }),
    rescore: (id, wanted = {}, call) =>
      connection.json({ method: 'POST', path: `${batchPath(id)}/rescore`, json: wanted, ...call }),
    results: async (id, wanted = {}) => {
      const { format, only, after, columns, refused, raw, bom, sep, ...rest } = wanted
      const { delimiter, encoding, ...call } = rest
      const query = queryOf({
        format,
        only: only?.join(','),
        after,
        columns: columns?.map(columnName).join(','),
        ...flags({ raw, bom, sep }),
        delimiter,
        encoding,
      })
      const path = `${batchPath(id)}/${refused === true ? 'refused' : 'results'}${query}`
      const { headers, body } = await connection.file({ method: 'GET', path, ...call })
      const name = fileNameOf(headers.get('content-disposition') ?? '')
      return {
        complete: headers.get('x-results-complete') === 'true',
        fileName: name ?? `${id}.${format ?? 'csv'}`,
        body,
      }
    },
  }
}

/** The name in a `Content-Disposition` of the service: as in RFC 8187, else quoted, else a token. */
function fileNameOf(disposition: string): string | undefined {
  const [, encoded] = /filename\*=UTF-8''([^;]+)/i.exec(disposition) ?? []
  if (encoded !== undefined) return decodeURIComponent(encoded)
  const [, quoted, token] = /filename=(?:"((?:[^"\\]|\\.)+)"|([^\s";]+))/i.exec(disposition) ?? []
  return quoted?.replaceAll(/\\(.)/g, '$1') ?? token
}

/** The path of a batch. */
export function batchPath(id: string): string {
  return `/v1/batches/${encodeURIComponent(id)}`
}

/** A name that holds a comma or a quote is quoted. */
function columnName(column: string | number): string {
  const name = String(column)
  return /[",]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name
}

function flags(values: Readonly<Record<string, boolean | undefined>>): Record<string, number> {
  const on = Object.entries(values).filter(([, value]) => value === true)
  return Object.fromEntries(on.map(([name]) => [name, 1]))
}
