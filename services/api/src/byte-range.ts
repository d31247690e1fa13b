import type { IncomingHttpHeaders } from 'node:http'
import type { ByteRange } from '@plumbline/storage/storage'

/** The part of a finished file that a request asks for. Source: RFC 9110, sections 13 and 14. */
export type PartWanted =
  | { readonly kind: 'whole' }
  | { readonly kind: 'part'; readonly range: ByteRange }
  /** The client has the file already. */
  | { readonly kind: 'unchanged' }
  /** No byte of the file is in the range. */
  | { readonly kind: 'outside' }

const WHOLE: PartWanted = { kind: 'whole' }

/**
 * Evaluates `If-None-Match`, `If-Range` and `Range` for a file. Anything but a single byte range is
 * ignored, as RFC 9110 allows, and the whole file sent; so is a range with any method but GET.
 */
export function partWanted(
  headers: IncomingHttpHeaders,
  file: { readonly bytes: number; readonly etag: string },
  method = 'GET',
): PartWanted {
  const known = headers['if-none-match']
  if (known !== undefined && matches(known, file.etag)) return { kind: 'unchanged' }
  if (method !== 'GET') return WHOLE
  const condition = headers['if-range']?.toString().trim()
  // A file with other content, or one identified only by its date, is sent in full.
  if (condition !== undefined && condition !== file.etag) return WHOLE
  const [, first, last] = /^bytes=(\d{0,16})-(\d{0,16})$/i.exec(headers.range?.trim() ?? '') ?? []
  if (first === undefined || last === undefined || (first === '' && last === '')) return WHOLE
  return rangeOf(first, last, file.bytes)
}

function rangeOf(first: string, last: string, bytes: number): PartWanted {
  if (first === '') {
    const suffix = Math.min(Number(last), bytes)
    if (suffix === 0) return { kind: 'outside' }
    return { kind: 'part', range: { start: bytes - suffix, end: bytes - 1 } }
  }
  const start = Number(first)
  if (last !== '' && Number(last) < start) return WHOLE
  if (start >= bytes) return { kind: 'outside' }
  const end = last === '' ? bytes - 1 : Math.min(Number(last), bytes - 1)
  return { kind: 'part', range: { start, end } }
}

/** Compared weakly, as `If-None-Match` is. */
function matches(header: string, etag: string): boolean {
  const tags = header.split(',').map((tag) => tag.trim().replace(/^W\//, ''))
  return tags.includes('*') || tags.includes(etag)
}
