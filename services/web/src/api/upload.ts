import type { BatchView } from '@plumbline/contract/batch-view'
import type { Product } from '@plumbline/contract/products'
import { refusalOf, RefusedCall } from './http.ts'
import { shownAccountHeader } from './shown-account.ts'

/** A file to upload, and the options for reading it. */
export interface Upload {
  readonly file: File
  readonly product: Product
  readonly name: string
  readonly defaultCountry: string
}

/** Called with the share of the file that was sent, 0 to 1. */
export type OnSent = (share: number) => void

/**
 * Uploads a file as a batch that does not start automatically. Aborting closes the connection, so
 * that nothing is created. Rejects with `RefusedCall`, or with the reason of `signal`.
 */
export async function uploadBatch(
  { file, product, name, defaultCountry }: Upload,
  { signal, onSent }: { readonly signal: AbortSignal; readonly onSent: OnSent },
): Promise<BatchView> {
  const form = new FormData()
  form.set('product', product)
  // Before the file, so that a balance of zero does not refuse what costs nothing.
  form.set('start', 'false')
  if (name.trim() !== '') form.set('name', name.trim())
  if (defaultCountry !== '') form.set('default_country', defaultCountry)
  form.set('file', file, file.name)
  // Of the ways to send, only this one tells how much has left.
  const request = new XMLHttpRequest()
  request.upload.addEventListener('progress', ({ loaded, total }) =>
    onSent(total === 0 ? 1 : loaded / total),
  )
  const stop = (): void => request.abort()
  signal.addEventListener('abort', stop, { once: true })
  try {
    return await sent(request, form)
  } catch (error) {
    signal.throwIfAborted()
    throw error
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

const PATH = '/v1/batches'

const CUT_OFF =
  'The upload broke off. Check the connection, and choose the file again unless the list of batches has it.'

async function sent(request: XMLHttpRequest, form: FormData): Promise<BatchView> {
  return await new Promise((resolve, reject) => {
    const failed = (): void => reject(new RefusedCall(0, CUT_OFF))
    request.addEventListener('error', failed)
    request.addEventListener('abort', failed)
    request.addEventListener('load', () => {
      if (request.status >= 200 && request.status < 300) {
        // Safe because the service answers an accepted batch with the batch.
        resolve(JSON.parse(request.responseText) as BatchView)
      } else {
        const { status, responseText: text } = request
        reject(refusalOf(PATH, status, text, headersOf(request), CUT_OFF))
      }
    })
    request.open('POST', PATH)
    for (const [name, value] of Object.entries(shownAccountHeader())) {
      request.setRequestHeader(name, value)
    }
    request.send(form)
  })
}

function headersOf(request: XMLHttpRequest): Headers {
  const headers = new Headers()
  for (const name of ['Retry-After', 'X-Request-Id']) {
    const value = request.getResponseHeader(name)
    if (value !== null) headers.set(name, value)
  }
  return headers
}
