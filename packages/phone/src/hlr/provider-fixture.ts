import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import { createEgress } from '@plumbline/net/egress'
import { fetchBounded } from '@plumbline/net/http'
import type { Resolver } from '@plumbline/net/resolver'
import type { HlrFetch } from './provider.ts'

/** A request as the provider received it. */
export interface Received {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

/** What a test provider sends: a status with JSON, raw text, nothing, or a closed connection. */
export type Sent =
  | { readonly status: number; readonly json: unknown; readonly headers?: Record<string, string> }
  | { readonly status: number; readonly text: string }
  | 'silence'
  | 'cut'

/** A provider on loopback, defined by one function. */
export interface ProviderFixture extends AsyncDisposable {
  readonly url: string
  readonly received: Received[]
}

/** Starts a test provider; `reply` sees each request. */
export async function startProvider(reply: (request: Received) => Sent): Promise<ProviderFixture> {
  const received: Received[] = []
  const listener: RequestListener = (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { method = '', url = '', headers } = request
      const whole = { method, url, headers, body: Buffer.concat(chunks).toString('utf8') }
      received.push(whole)
      const sent = reply(whole)
      if (sent === 'silence') return
      if (sent === 'cut') return void request.socket.destroy()
      const more = 'headers' in sent ? sent.headers : {}
      response.writeHead(sent.status, { 'content-type': 'application/json', ...more })
      response.end('text' in sent ? sent.text : JSON.stringify(sent.json))
    })
  }
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return {
    url: `http://127.0.0.1:${port}`,
    received,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const nobody: Resolver = {
  resolve: async () => ({ kind: 'nxdomain', ttlSeconds: 1 }),
  ask: async () => ({ kind: 'failed', reason: 'refused' }),
}

/** Fetches from loopback through the egress guard. */
export const loopbackFetch: HlrFetch = (request) =>
  fetchBounded({
    ...request,
    egress: createEgress({ allow: ['127.0.0.0/8'] }),
    resolver: nobody,
  })
