import { createServer } from 'node:http'
import type { RequestListener, ServerResponse } from 'node:http'
import { listenAt, onOnePort } from './one-port.ts'
import type { Listeners } from './one-port.ts'

/** Starts an HTTP server at each address, all on one port; 0: any port that is free at all of them. */
export function listenEverywhere(
  handlers: ReadonlyMap<string, RequestListener>,
  port: number,
): Promise<Listeners> {
  return onOnePort(port, async (given, opened) => {
    let bound = given
    for (const [address, handler] of handlers) {
      const server = createServer({ keepAliveTimeout: 5000 }, handler)
      bound = await listenAt(server, address, bound, opened)
      opened.defer(() => server.closeAllConnections())
    }
    return bound
  })
}

/** Responds with a JSON body. */
export function json(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  const text = JSON.stringify(body)
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    ...headers,
  })
  response.end(text)
}
