import { createServer, request, type IncomingMessage, type RequestListener } from 'node:http'
import { duplexPair, Readable } from 'node:stream'
import { headersOf } from './fetch-headers.ts'

/** `fetch` in the form that the client of this service accepts. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>

/**
 * Calls the app within this process, as HTTP over an in-memory stream, so that a call on behalf of
 * a caller is subject to key, rate limit, credits and log like any other.
 * @returns `fetch` for a caller at that address
 */
export function createInnerFetch(app: RequestListener): (address: string) => Fetch {
  // It never listens; connections are handed to it.
  const server = createServer(app)
  return (address) => async (url, init) => {
    const [near, far] = duplexPair()
    // Neither end sees by itself that the other is gone, and an answer that nobody reads would stay
    // under way.
    near.once('close', () => far.destroy())
    far.once('close', () => near.destroy())
    server.emit('connection', Object.assign(far, { remoteAddress: address }))
    try {
      return await send(new URL(url), init, near)
    } catch (error) {
      near.destroy()
      throw error
    }
  }
}

async function send(url: URL, init: RequestInit, near: Readable): Promise<Response> {
  const { method = 'GET', body, signal } = init
  if (body !== undefined && body !== null && typeof body !== 'string') {
    throw new TypeError('a call within the process has a body of text')
  }
  const received = await new Promise<IncomingMessage>((resolve, reject) => {
    const sent = request({
      // Safe because Node takes any duplex stream for a connection. Source: Node 24, http.Agent options.
      createConnection: () => near as never,
      method,
      path: `${url.pathname}${url.search}`,
      headers: { ...Object.fromEntries(new Headers(init.headers)), host: 'localhost' },
      ...(signal === null || signal === undefined ? {} : { signal }),
    })
    sent.once('response', resolve).once('error', reject)
    sent.end(body ?? undefined)
  })
  received.once('close', () => near.destroy())
  const { statusCode: status = 500 } = received
  const hasBody = status !== 204 && status !== 304
  if (!hasBody) received.resume()
  return new Response(hasBody ? bodyOf(received) : null, {
    status,
    headers: headersOf(received),
  })
}

/** Safe because Node's web streams are the platform's, under another name of its types. */
function bodyOf(received: IncomingMessage): ReadableStream<Uint8Array> {
  return Readable.toWeb(received) as ReadableStream<Uint8Array>
}
