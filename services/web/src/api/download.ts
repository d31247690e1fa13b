import { refusalOf, RefusedCall, UNREACHABLE } from './http.ts'

/** Time-out in ms until the service has said whether there is a file. */
const ANSWER_WITHIN_MS = 60_000

/**
 * Asks whether a file can be downloaded: a browser shows no more of a refused download than that it
 * failed. Rejects with `RefusedCall`.
 */
export async function probeDownload(path: string): Promise<void> {
  const stop = new AbortController()
  try {
    const { ok } = await request(path, 'HEAD', stop.signal)
    if (ok) return
    // Only the response to a GET has the message.
    const refused = await request(path, 'GET', stop.signal)
    if (refused.ok) return
    throw refusalOf(path, refused.status, await refused.text(), refused.headers)
  } finally {
    stop.abort()
  }
}

async function request(path: string, method: string, signal: AbortSignal): Promise<Response> {
  try {
    return await fetch(path, {
      method,
      credentials: 'same-origin',
      signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_WITHIN_MS)]),
    })
  } catch {
    throw new RefusedCall(0, UNREACHABLE)
  }
}
