import type { Sdk } from './sdk.ts'
import { createToolServer, type McpOptions } from './server.ts'

/** One POST to `/mcp`. */
export interface HttpMessage {
  readonly headers: Headers
  /** The parsed body: one message, not an array. */
  readonly body: unknown
  readonly signal: AbortSignal
}

/** The response to a message. */
export interface HttpResponse {
  readonly status: number
  readonly type: string | undefined
  readonly body: string
}

/**
 * Answers one message of streamable HTTP. Stateless: there are no sessions that could be kept open
 * or hijacked, and no streams.
 *
 * @throws the reason of the signal, once it aborts
 */
export async function answerMessage(
  sdk: Sdk,
  { client, onError }: McpOptions,
  { headers, body, signal }: HttpMessage,
): Promise<HttpResponse> {
  signal.throwIfAborted()
  const mcp = createToolServer(sdk, { client, onError })
  const transport = new sdk.HttpTransport({ enableJsonResponse: true })
  // A transport that is closed leaves the messages that it has not answered without an end.
  const gone = Promise.withResolvers<never>()
  const leave = (): void => gone.reject(signal.reason)
  signal.addEventListener('abort', leave, { once: true })
  try {
    await mcp.connect(transport)
    const request = new Request('http://plumbline/mcp', { method: 'POST', headers })
    const answering = transport.handleRequest(request, { parsedBody: body })
    const response = await Promise.race([answering, gone.promise])
    const type = response.headers.get('content-type') ?? undefined
    return { status: response.status, type, body: await response.text() }
  } finally {
    signal.removeEventListener('abort', leave)
    await mcp.close()
  }
}
