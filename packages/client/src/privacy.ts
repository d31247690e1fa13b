import type { ErasurePage, ErasureView, EraseRequest } from '@plumbline/contract/erasure'
import { queryOf, sleep, type CallOptions, type Connection } from './connection.ts'

/** Calls for the stored data of the account. */
export interface PrivacyCalls {
  /** Begins to erase values from everything that is stored for the account. */
  erase(values: EraseRequest, options?: CallOptions): Promise<ErasureView>
  /** The receipt of an erasure. */
  erasure(id: string, options?: CallOptions): Promise<ErasureView>
  /** Receipts of erasures, newest first; `cursor` is the `next_cursor` of the page before. */
  erasures(
    page?: { readonly limit?: number; readonly cursor?: string },
    options?: CallOptions,
  ): Promise<ErasurePage>
  /** Waits until the erasure is completed. */
  waitErased(
    id: string,
    options?: CallOptions & { readonly everyMs?: number },
  ): Promise<ErasureView>
  /** Everything that is stored for the account, as a ZIP file. */
  export(options?: CallOptions): Promise<ReadableStream<Uint8Array>>
}

/** Makes the calls for stored data over a connection. */
export function privacyCalls({ json, file }: Connection): PrivacyCalls {
  const erasure: PrivacyCalls['erasure'] = (id, call) =>
    json({ method: 'GET', path: `/v1/erase/${encodeURIComponent(id)}`, ...call })
  return {
    erase: (values, call) => json({ method: 'POST', path: '/v1/erase', json: values, ...call }),
    erasure,
    erasures: ({ limit, cursor } = {}, call) =>
      json({ method: 'GET', path: `/v1/erase${queryOf({ limit, cursor })}`, ...call }),
    waitErased: async (id, { everyMs = 1_000, ...call } = {}) => {
      for (;;) {
        const receipt = await erasure(id, call)
        if (receipt.status === 'completed') return receipt
        await sleep(everyMs, call.signal)
      }
    },
    export: async (call) => (await file({ method: 'GET', path: '/v1/export', ...call })).body,
  }
}
