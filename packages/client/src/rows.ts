import { UNFINISHED_STATES } from '@plumbline/contract/batch'
import type { BatchView } from '@plumbline/contract/batch-view'
import type { Product } from '@plumbline/contract/products'
import type { ResultOf } from '@plumbline/contract/results'
import type { Results, ResultsOptions } from './batch-results.ts'
import { sleep, type CallOptions } from './connection.ts'
import { ConnectionError } from './refused.ts'
import { chunksOf } from './upload.ts'

/** One row of a batch. */
export interface ResultRow<P extends Product = Product> {
  /** Number of the row; 1 is the first record. */
  readonly row: number
  /** The caller's own name of a record that was sent as JSON. */
  readonly ref: string | null
  /** The record as it was sent. */
  readonly input: unknown
  readonly status: string
  /** The result as of a single call; null if there is none. */
  readonly result: ResultOf<P> | null
  readonly advice: string | null
  readonly why: string | null
  readonly suggestion: string | null
  readonly credits_charged: number
  /** The error of a refused row. */
  readonly error: string | null
}

/** Selection of rows. */
export interface RowsOptions extends CallOptions {
  /** Verdicts, row statuses, advices or reasons; all rows if empty. */
  readonly only?: readonly string[]
  /** Only rows after this row number, so that a reader can continue after its last one. */
  readonly after?: number
  /** Continues until the batch has ended; otherwise ends before the first row without a result. */
  readonly follow?: boolean
  /** Milliseconds between requests with `follow`; default 1,000. */
  readonly everyMs?: number
}

interface Source {
  readonly retries: number
  results(id: string, wanted: ResultsOptions): Promise<Results>
  get(id: string, options: CallOptions): Promise<BatchView>
}

/** A longer line is not the service's: a row has at most 64 KiB of input. */
const LINE_MAX_CHARS = 16 * 1_048_576

/** Reads rows one after the other; reconnects after the last one if the connection breaks. */
export async function* readRows<P extends Product>(
  source: Source,
  id: string,
  { only, after = 0, follow = false, everyMs = 1_000, ...call }: RowsOptions = {},
): AsyncGenerator<ResultRow<P>, void, undefined> {
  let last = after
  let failures = 0
  for (;;) {
    const status = follow ? (await source.get(id, call)).status : undefined
    if (status === 'analyzing') {
      // It has no rows yet, so the request is refused.
      await sleep(everyMs, call.signal)
      continue
    }
    // Checked before reading: if the batch ends meanwhile, it is read once more.
    const isEnding = status !== undefined && !UNFINISHED_STATES.includes(status)
    try {
      const wanted = { format: 'ndjson', after: last, ...(only ? { only } : {}), ...call } as const
      const results = await source.results(id, wanted)
      for await (const line of linesOf(results.body)) {
        const row = parse<P>(line)
        last = row.row
        failures = 0
        yield row
      }
      if (results.complete || !follow || isEnding) return
    } catch (error) {
      call.signal?.throwIfAborted()
      // A body that is cut is a `TypeError` of fetch in every platform.
      const isCut = error instanceof TypeError || isReset(error)
      if (!isCut || failures >= source.retries) throw error
      failures += 1
    }
    await sleep(everyMs, call.signal)
  }
}

function isReset(error: unknown): boolean {
  return error instanceof Error && 'code' in error && /^(?:E|UND_ERR)/.test(String(error.code))
}

/**
 * Safe because the contract defines the shape of a row; a line that is not JSON is not the
 * service's.
 */
function parse<P extends Product>(line: string): ResultRow<P> {
  try {
    return JSON.parse(line) as ResultRow<P>
  } catch (error) {
    throw new ConnectionError('The service sent a row that is not JSON.', { cause: error })
  }
}

async function* linesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of chunksOf(body)) {
    rest += decoder.decode(chunk, { stream: true })
    const lines = rest.split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > LINE_MAX_CHARS) {
      throw new ConnectionError(`The service sent a row of more than ${LINE_MAX_CHARS} characters.`)
    }
    yield* lines
  }
  if (rest !== '') yield rest
}
