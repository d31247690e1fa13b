import { UNFINISHED_STATES } from '@plumbline/contract/batch'
import type { BatchChange } from '@plumbline/contract/batch-change'
import type { BatchPreview } from '@plumbline/contract/batch-preview'
import type { ResultFormat } from '@plumbline/contract/results-request'
import type { BatchSample } from '@plumbline/contract/batch-sample'
import type { Delimiter } from '@plumbline/contract/delimiters'
import type { RecheckBody, RescoreBody } from '@plumbline/contract/batch-origin'
import type { BatchRecord } from '@plumbline/contract/batch-request'
import type { BatchPage, BatchView } from '@plumbline/contract/batch-view'
import type { Product } from '@plumbline/contract/products'
import { queryOf, sleep, type CallOptions, type Connection } from './connection.ts'

/** How a batch is processed; what is left out is the service's default. */
export interface BatchSettings {
  readonly product: Product
  readonly name?: string
  /** ISO 3166-1 alpha-2, for phone numbers without country code. */
  readonly defaultCountry?: string
  /** `false` stops at `ready` with the estimate. */
  readonly start?: boolean
  readonly maxCredits?: number
  readonly retentionDays?: number
  readonly explain?: boolean
}

/** A batch as a file. */
export interface BatchFile extends BatchSettings {
  readonly file: Blob
  readonly fileName: string
  /** Field to header name or 0-based column. */
  readonly mapping?: Readonly<Record<string, string | number>>
  readonly header?: boolean
  /** Sheet of a workbook, by its name or its number from 1. */
  readonly sheet?: string | number
  /** File to read of a ZIP file that holds several. */
  readonly entry?: string
  /** Encoding of a text file, such as `windows-1250`; found out if absent. */
  readonly encoding?: string
  readonly delimiter?: Delimiter
}

/** A batch as records. */
export interface BatchRecords extends BatchSettings {
  readonly records: readonly BatchRecord[]
}

/** How a batch is waited for. */
export interface WaitOptions extends CallOptions {
  /** Called with the batch after each request; for a progress bar. */
  readonly onProgress?: (batch: BatchView) => void
  /** Milliseconds between requests; 500 by default. */
  readonly everyMs?: number
}

/** Which results are wanted, and in which form. */
export interface ResultsOptions extends CallOptions {
  readonly format?: ResultFormat
  /** Verdicts, row statuses, advices or reasons; all rows where empty. */
  readonly only?: readonly string[]
  /** Only rows behind this row number. */
  readonly after?: number
  /** Columns of a table in their order: names, 0-based numbers of the batch's own, `input`, `result`. */
  readonly columns?: readonly (string | number)[]
  /** Only the rows that were refused, with what is wrong with each; `format`, and what is of CSV, hold. */
  readonly refused?: boolean
  readonly raw?: boolean
  /** A byte order mark in front of CSV; not together with `sep`. */
  readonly bom?: boolean
  /** A first line of CSV that names the delimiter to Excel. */
  readonly sep?: boolean
  readonly delimiter?: Delimiter
  readonly encoding?: string
}

/** A result file as it is received. */
export interface Results {
  /** Whether every row is there. */
  readonly complete: boolean
  readonly fileName: string
  readonly body: ReadableStream<Uint8Array>
}

/** Calls about batches. */
export interface BatchCalls {
  create(batch: BatchFile | BatchRecords, options?: CallOptions): Promise<BatchView>
  get(id: string, options?: CallOptions): Promise<BatchView>
  /** `status`: states, parted by commas; `search`: a part of name, file name or id. */
  list(
    page?: { limit?: number; cursor?: string; status?: string; search?: string },
    options?: CallOptions,
  ): Promise<BatchPage>
  start(id: string, options?: CallOptions): Promise<BatchView>
  cancel(id: string, options?: CallOptions): Promise<BatchView>
  /** What a batch holds and would cost. */
  preview(id: string, options?: CallOptions): Promise<BatchPreview>
  /** Changes how a batch is read and what it asks, before it starts. */
  change(id: string, change: BatchChange, options?: CallOptions): Promise<BatchView>
  /** Checks up to 50 rows of a ready batch; its start neither asks nor charges them again. */
  sample(id: string, options?: CallOptions): Promise<BatchSample>
  /** The sample of a batch, as far as it is. */
  readSample(id: string, options?: CallOptions): Promise<BatchSample>
  /** Asks some rows of a batch again, as a new batch. */
  recheck(id: string, wanted: RecheckBody, options?: CallOptions): Promise<BatchView>
  /** Scores the outcomes of a batch by other weights, as a new batch; free. */
  rescore(id: string, wanted?: RescoreBody, options?: CallOptions): Promise<BatchView>
  /** Nothing new is asked for a running batch until it is resumed. */
  pause(id: string, options?: CallOptions): Promise<BatchView>
  resume(id: string, options?: CallOptions): Promise<BatchView>
  delete(id: string, options?: CallOptions): Promise<void>
  /** Resolves when the batch has ended, or has stopped at `ready`. */
  wait(id: string, options?: WaitOptions): Promise<BatchView>
  results(id: string, options?: ResultsOptions): Promise<Results>
}

/** Makes the calls about batches over a connection. */
export function batchCalls(connection: Connection): BatchCalls {
  const get: BatchCalls['get'] = (id, call) =>
    connection.json({ method: 'GET', path: pathOf(id), ...call })
  return {
    get,
    create: (batch, call) =>
      connection.json({ method: 'POST', path: '/v1/batches', ...bodyOf(batch), ...call }),
    list: (page = {}, call) =>
      connection.json({ method: 'GET', path: `/v1/batches${queryOf(page)}`, ...call }),
    start: (id, call) => connection.json({ method: 'POST', path: `${pathOf(id)}/start`, ...call }),
    cancel: (id, call) =>
      connection.json({ method: 'POST', path: `${pathOf(id)}/cancel`, ...call }),
    preview: (id, call) =>
      connection.json({ method: 'GET', path: `${pathOf(id)}/preview`, ...call }),
    change: (id, change, call) =>
      connection.json({ method: 'PATCH', path: pathOf(id), json: change, ...call }),
    sample: (id, call) =>
      connection.json({ method: 'POST', path: `${pathOf(id)}/sample`, ...call }),
    readSample: (id, call) =>
      connection.json({ method: 'GET', path: `${pathOf(id)}/sample`, ...call }),
    recheck: (id, wanted, call) =>
      connection.json({ method: 'POST', path: `${pathOf(id)}/recheck`, json: wanted, ...call }),
    rescore: (id, wanted = {}, call) =>
      connection.json({ method: 'POST', path: `${pathOf(id)}/rescore`, json: wanted, ...call }),
    pause: (id, call) => connection.json({ method: 'POST', path: `${pathOf(id)}/pause`, ...call }),
    resume: (id, call) =>
      connection.json({ method: 'POST', path: `${pathOf(id)}/resume`, ...call }),
    delete: async (id, call) => {
      await connection.send({ method: 'DELETE', path: pathOf(id), ...call })
    },
    wait: async (id, { onProgress, everyMs = 500, ...call } = {}) => {
      for (;;) {
        const batch = await get(id, call)
        onProgress?.(batch)
        if (batch.status === 'ready' || !UNFINISHED_STATES.includes(batch.status)) return batch
        await sleep(everyMs, call.signal)
      }
    },
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
      const path = `${pathOf(id)}/${refused === true ? 'refused' : 'results'}${query}`
      const response = await connection.send({ method: 'GET', path, endless: true, ...call })
      if (response.body === null) throw new Error('the service answered without a body')
      const name = /filename="([^"]+)"/.exec(response.headers.get('content-disposition') ?? '')?.[1]
      return {
        complete: response.headers.get('x-results-complete') === 'true',
        fileName: name ?? `${id}.${format ?? 'csv'}`,
        body: response.body,
      }
    },
  }
}

/** A name that holds a comma or a quote stands in quotes. */
function columnName(column: string | number): string {
  const name = String(column)
  return /[",]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name
}

function flags(values: Readonly<Record<string, boolean | undefined>>): Record<string, number> {
  const on = Object.entries(values).filter(([, value]) => value === true)
  return Object.fromEntries(on.map(([name]) => [name, 1]))
}

function pathOf(id: string): string {
  return `/v1/batches/${encodeURIComponent(id)}`
}

function bodyOf(batch: BatchFile | BatchRecords): { form: FormData } | { json: object } {
  const settings = {
    product: batch.product,
    name: batch.name,
    default_country: batch.defaultCountry,
    start: batch.start,
    max_credits: batch.maxCredits,
    retention_days: batch.retentionDays,
    explain: batch.explain,
  }
  if ('records' in batch) return { json: { ...settings, records: batch.records } }
  const form = new FormData()
  const fields = {
    ...settings,
    header: batch.header,
    sheet: batch.sheet,
    entry: batch.entry,
    encoding: batch.encoding,
    delimiter: batch.delimiter,
    mapping: batch.mapping === undefined ? undefined : JSON.stringify(batch.mapping),
  }
  for (const [name, value] of Object.entries(fields)) {
    if (value !== undefined) form.set(name, String(value))
  }
  form.set('file', batch.file, batch.fileName)
  return { form }
}
