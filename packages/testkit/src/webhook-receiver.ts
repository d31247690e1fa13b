import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

/** A received message. */
export interface ReceivedMessage {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** A webhook receiver on loopback. */
export interface WebhookReceiver extends AsyncDisposable {
  readonly url: string
  readonly received: readonly ReceivedMessage[]
  /** Sets the response to further messages; 204 by default. */
  answer(how: (message: ReceivedMessage, res: ServerResponse) => void): void
}

/** Starts a receiver. */
export async function startReceiver(): Promise<WebhookReceiver> {
  const received: ReceivedMessage[] = []
  let answer: (message: ReceivedMessage, res: ServerResponse) => void = (_message, res) =>
    res.writeHead(204).end()
  const server = createServer((req, res) => {
    void text(req).then((body) => {
      const message = { path: req.url ?? '', headers: req.headers, body }
      received.push(message)
      answer(message, res)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // Safe because it listens on a port.
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    received,
    answer: (how) => {
      answer = how
    },
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
  }
}
