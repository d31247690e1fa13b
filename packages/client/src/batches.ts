import { UNFINISHED_STATES } from '@plumbline/contract/batch'
import type { BatchChange } from '@plumbline/contract/batch-change'
import type { BatchPreview } from '@plumbline/contract/batch-preview'
import type { BatchSample } from '@plumbline/contract/batch-sample'
import type { BatchKnown } from '@plumbline/contract/known-verdicts'
import type { Delimiter } from '@plumbline/contract/delimiters'
import type { BatchRecord } from '@plumbline/contract/batch-request'
import type { BatchPage, BatchView } from '@plumbline/contract/batch-view'
import type { Product } from '@plumbline/contract/products'
import { batchPath, resultCalls, type ResultCalls } from './batch-results.ts'
import { queryOf, sleep, type Body, type CallOptions, type Connection } from './connection.ts'
import type { OpenedPath } from './opened-path.ts'
import { readRows, type ResultRow, type RowsOptions } from './rows.ts'
import { uploadBody, type FileSource } from './upload.ts'

/** Options for processing a batch; omitted ones have the service's default. */
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

/** Options for reading a file; omitted ones are detected by the service. */
export interface FileSettings extends BatchSettings {
  /** Field to header name or 0-based column. */
  readonly mapping?: Readonly<Record<string, string | number>>
  /** Whether there is a header, or the number of the record that is it, from 1. */
  readonly header?: boolean | number
  /** Sheet of a workbook, by its name or its number from 1. */
  readonly sheet?: string | number
  /** File to read of a ZIP file that holds several. */
  readonly entry?: string
  /** Encoding of a text file, such as `windows-1250`; detected if absent. */
  readonly encoding?: string
  readonly delimiter?: Delimiter
  /**
   * Maximum age of accepted verdicts, such as `30d`, if the file is an export of another service.
   */
  readonly known?: string
  /** Date of those verdicts if the export has none, such as `2026-11-01`. */
  readonly knownAt?: string
}

/** A batch from a file. */
export interface BatchFile extends FileSettings {
  /**
   * In a browser a Blob or File. A stream can be sent only once: if the connection breaks, the call
   * is not retried.
   */
  readonly file: FileSource
  readonly fileName: string
}

/** A batch from a file of this machine; not in a browser. */
export interface BatchPath extends FileSettings {
  readonly path: string
  /** The name of the file itself if absent. */
  readonly fileName?: string
}

/** A batch from records. */
export interface BatchRecords extends BatchSettings {
  readonly records: readonly BatchRecord[]
}

/** Options for waiting for a batch. */
export interface WaitOptions extends CallOptions {
  /** Called with the batch after each request; for a progress bar. */
  readonly onProgress?: (batch: BatchView) => void
  /** Milliseconds between requests; default 500. */
  readonly everyMs?: number
}

/** Calls for batches. */
export interface BatchCalls extends ResultCalls {
  create(batch: BatchFile | BatchPath | BatchRecords, options?: CallOptions): Promise<BatchView>
  get(id: string, options?: CallOptions): Promise<BatchView>
  /** `status`: states, separated by commas; `search`: a part of name, file name or id. */
  list(
    page?: { limit?: number; cursor?: string; status?: string; search?: string },
    options?: CallOptions,
  ): Promise<BatchPage>
  start(id: string, options?: CallOptions): Promise<BatchView>
  cancel(id: string, options?: CallOptions): Promise<BatchView>
  /** The content of a batch, and its cost if it is started. */
  preview(id: string, options?: CallOptions): Promise<BatchPreview>
  /** Changes how a batch is read and what it checks, before it starts. */
  change(id: string, change: BatchChange, options?: CallOptions): Promise<BatchView>
  /** Checks up to 50 rows of a ready batch; starting it neither checks nor charges them again. */
  sample(id: string, options?: CallOptions): Promise<BatchSample>
  /** The sample of a batch, with its results so far. */
  readSample(id: string, options?: CallOptions): Promise<BatchSample>
  /** Compares the accepted verdicts of another service with our own outcomes. */
  known(id: string, options?: CallOptions): Promise<BatchKnown>
  /** Pauses a running batch until it is resumed. */
  pause(id: string, options?: CallOptions): Promise<BatchView>
  resume(id: string, options?: CallOptions): Promise<BatchView>
  delete(id: string, options?: CallOptions): Promise<void>
  /** The rows of a batch as their results become known; reconnects if the connection breaks. */
  rows<P extends Product = Product>(
    id: string,
    options?: RowsOptions,
  ): AsyncGenerator<ResultRow<P>, void, undefined>
  /** Resolves when the batch has ended, or has stopped at `ready`. */
  wait(id: string, options?: WaitOptions): Promise<BatchView>
}

/** Makes the calls for batches over a connection. */
export function batchCalls(connection: Connection): BatchCalls {
  const get: BatchCalls['get'] = (id, call) =>
    connection.json({ method: 'GET', path: batchPath(id), ...call })
  const read = <T>(id: string, part: string, call?: CallOptions): Promise<T> =>
    connection.json({ method: 'GET', path: `${batchPath(id)}/${part}`, ...call })
  const post = <T>(id: string, part: string, call?: CallOptions): Promise<T> =>
    connection.json({ method: 'POST', path: `${batchPath(id)}/${part}`, ...call })
  const results = resultCalls(connection)
  return {
    ...results,
    get,
    create: async (batch, call) =>
      connection.json({ method: 'POST', path: '/v1/batches', ...(await bodyOf(batch)), ...call }),
    rows: (id, options) =>
      readRows({ retries: connection.retries, results: results.results, get }, id, options),
    list: (page = {}, call) =>
      connection.json({ method: 'GET', path: `/v1/batches${queryOf(page)}`, ...call }),
    start: (id, call) => post(id, 'start', call),
    cancel: (id, call) => post(id, 'cancel', call),
    preview: (id, call) => read(id, 'preview', call),
    change: (id, change, call) =>
      connection.json({ method: 'PATCH', path: batchPath(id), json: change, ...call }),
    sample: (id, call) => post(id, 'sample', call),
    readSample: (id, call) => read(id, 'sample', call),
    known: (id, call) => read(id, 'known', call),
    pause: (id, call) => post(id, 'pause', call),
    resume: (id, call) => post(id, 'resume', call),
    delete: async (id, call) => {
      await connection.send({ method: 'DELETE', path: batchPath(id), ...call })
    },
    wait: async (id, { onProgress, everyMs = 500, ...call } = {}) => {
      for (;;) {
        const batch = await get(id, call)
        onProgress?.(batch)
        if (batch.status === 'ready' || !UNFINISHED_STATES.includes(batch.status)) return batch
        await sleep(everyMs, call.signal)
      }
    },
  }
}

async function bodyOf(
  batch: BatchFile | BatchPath | BatchRecords,
): Promise<{ body: Body } | { json: object }> {
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
  const named = {
    ...settings,
    header: batch.header,
    sheet: batch.sheet,
    entry: batch.entry,
    encoding: batch.encoding,
    delimiter: batch.delimiter,
    known: batch.known,
    known_at: batch.knownAt,
    mapping: batch.mapping === undefined ? undefined : JSON.stringify(batch.mapping),
  }
  const fields = Object.fromEntries(
    Object.entries(named).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, String(value)]],
    ),
  )
  if (!('path' in batch)) {
    return { body: await uploadBody({ fields, file: batch.file, fileName: batch.fileName }) }
  }
  const file = await openFileOf(batch.path)
  const { fileName = file.fileName } = batch
  return { body: await uploadBody({ fields, file, fileName }) }
}

/** Opens a file of this machine, which a page in a browser cannot. */
async function openFileOf(path: string): Promise<OpenedPath> {
  const node =
    'process' in globalThis ? await import('./platform-node.ts').catch(() => undefined) : undefined
  // Bundlers for browsers replace it by an empty module, as `package.json` says.
  if (typeof node?.openPath !== 'function') {
    throw new TypeError(
      'A path names a file of this machine, which a browser cannot read; give a Blob or File as `file`.',
    )
  }
  return await node.openPath(path)
}
