import type { Product } from '@plumbline/contract/products'
import { refusalOf, RefusedCall, UNREACHABLE } from './http.ts'
import { batchPath } from './queries.ts'

/** One row of an NDJSON result. */
export interface ResultRow {
  readonly row: number
  readonly ref: string | null
  readonly input: unknown
  readonly status: string
  readonly result: Readonly<Record<string, unknown>> | null
  readonly credits_charged: number
  readonly error: string | null
  readonly advice?: string | null
  readonly why?: string | null
  readonly suggestion?: string | null
}

/** Rows per page of the table. */
export const ROWS_SHOWN = 25
/** Characters of a response that are read at most: rows may be long. */
const READ_CHARS = 4_000_000

/** Rows, and whether there are more. */
export interface ResultRows {
  readonly rows: readonly ResultRow[]
  readonly hasMore: boolean
}

/**
 * The first rows after a row number that a filter selects; the rest of the response is not awaited.
 */
export async function readRows(
  id: string,
  {
    only,
    after,
    signal,
  }: { readonly only: string; readonly after: number; readonly signal: AbortSignal },
): Promise<ResultRows> {
  const query = new URLSearchParams({ format: 'ndjson' })
  if (after > 0) query.set('after', String(after))
  if (only !== '') query.set('only', only)
  const stop = new AbortController()
  const path = `${batchPath(id)}/results?${query.toString()}`
  const response = await request(path, AbortSignal.any([signal, stop.signal]))
  if (!response.ok) throw refusalOf(path, response.status, await response.text(), response.headers)
  try {
    const lines = await firstLines(response, ROWS_SHOWN + 1)
    return {
      rows: lines.slice(0, ROWS_SHOWN).map(rowOf),
      hasMore: lines.length > ROWS_SHOWN,
    }
  } finally {
    stop.abort()
  }
}

async function request(path: string, signal: AbortSignal): Promise<Response> {
  try {
    return await fetch(path, { credentials: 'same-origin', signal })
  } catch {
    signal.throwIfAborted()
    throw new RefusedCall(0, UNREACHABLE)
  }
}

async function firstLines(response: Response, most: number): Promise<readonly string[]> {
  const lines: string[] = []
  if (response.body === null) return lines
  let rest = ''
  let read = 0
  for await (const text of chunksOf(response.body)) {
    read += text.length
    const parts = (rest + text).split('\n')
    rest = parts.pop() ?? ''
    lines.push(...parts.filter((line) => line !== ''))
    if (lines.length >= most || read >= READ_CHARS) return lines.slice(0, most)
  }
  return rest === '' ? lines : [...lines, rest]
}

/** The text of a stream; not every browser can iterate over streams. */
async function* chunksOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    yield decoder.decode(value, { stream: true })
  }
}

function rowOf(line: string): ResultRow {
  // Safe because the service writes every line in this form, which its own tests hold it to.
  return JSON.parse(line) as ResultRow
}

/** The subject of a row for display: the first field of its result, else its cells. */
export function subjectOf(row: ResultRow, product: Product): string {
  const { result, input } = row
  const first =
    result === null ? undefined : Object.values(result)[product === 'fraud-signals' ? 2 : 0]
  if (typeof first === 'string') return first
  if (isRecord(first)) return Object.values(first).find(isFilled) ?? ''
  if (typeof input === 'string') return input
  // Without a header, or if two columns have the same name, cells have no names.
  return isRecord(input) || Array.isArray(input)
    ? Object.values(input).filter(isFilled).join(' · ')
    : ''
}

/** Whether a field of a result says that it is not known: null, or for the age of a domain -1. */
export function isUnknown(name: string, value: unknown): boolean {
  return value === null || (value === -1 && /(?:^|\.)age_days$/.test(name))
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isFilled(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
