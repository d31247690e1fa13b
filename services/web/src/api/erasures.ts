import type { ErasurePage, ErasureView } from '@plumbline/contract/erasure'
import { callJson } from './http.ts'

/** Receipts of one page. */
const PAGE_RECEIPTS = 10

/** Query key of the receipts. */
export const erasuresKey: readonly unknown[] = ['erasures']

/** Query key of one receipt. */
export function erasureKey(id: string): readonly unknown[] {
  return ['erasure', id]
}

/** The page that shows a receipt. */
export function receiptHref(id: string): string {
  return `/app/settings/erase?receipt=${encodeURIComponent(id)}`
}

/** Reads one receipt. */
export async function readErasure(id: string, signal: AbortSignal): Promise<ErasureView> {
  const path = `/v1/erase/${encodeURIComponent(id)}`
  return await callJson<ErasureView>('GET', path, undefined, { signal })
}

/** Reads a page of receipts, newest first; the first page if `cursor` is empty. */
export async function readErasures(cursor: string, signal: AbortSignal): Promise<ErasurePage> {
  const query = new URLSearchParams({ limit: String(PAGE_RECEIPTS) })
  if (cursor !== '') query.set('cursor', cursor)
  const path = `/v1/erase?${query.toString()}`
  return await callJson<ErasurePage>('GET', path, undefined, { signal })
}
