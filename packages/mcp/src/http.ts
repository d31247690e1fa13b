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
 */
export async function answerMessage(
  sdk: Sdk,
  { client, onError }: McpOptions,
  { headers, body, signal }: HttpMessage,
): Promise<HttpResponse> {
  const mcp = createToolServer(sdk, { client, onError })
  const transport = new sdk.HttpTransport({ enableJsonResponse: true })
  const close = (): void => void mcp.close()
  signal.addEventListener('abort', close, { once: true })
  try {
    await mcp.connect(transport)
    const request = new Request('http://plumbline/mcp', { method: 'POST', headers })
    const response = await transport.handleRequest(request, { parsedBody: body })
    const type = response.headers.get('content-type') ?? undefined
    return { status: response.status, type, body: await response.text() }
  } finally {
    signal.removeEventListener('abort', close)
    await mcp.close()
  }
}
