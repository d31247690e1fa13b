import { randomUUID } from 'node:crypto'
import { STATUS_CODES, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Log } from '@plumbline/ports/log'
import { loggable } from './request-log.ts'
import { FIXED_HEADERS, SAFE_HEADERS } from './response.ts'

/** Statuses of requests that the HTTP server refuses before the app has one to handle. */
export type Malformed = 400 | 408 | 413 | 417 | 431

const MESSAGES: Readonly<Record<Malformed, string>> = {
  400: 'This is not a well-formed HTTP/1.1 request with one `Host` header; see RFC 9112.',
  408: 'The request did not come in time; send its head and body without pauses.',
  413: 'The chunk extensions of the body are too large; leave them out.',
  417: 'Of the header `Expect`, only `100-continue` is understood.',
  431: 'The headers of the request are too large; send fewer or shorter ones.',
}

/**
 * The refusal for a parser error; undefined if the connection itself failed, so that no refusal can
 * be sent. Source: Node 24, lib/_http_server.js, `socketOnError`.
 */
export function malformedOf(error: Error): Malformed | undefined {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return 431
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return 413
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return 408
    default:
      return code.startsWith('HPE_') ? 400 : undefined
  }
}

/** Sends a refusal (decision 8) on a bare connection, and closes it. */
export function refuseOnSocket(log: Log, socket: Socket, status: Malformed): void {
  const { headers, body } = refusal(log, socket, status)
  const lines: string[] = [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`]
  for (let at = 0; at < headers.length; at += 2) lines.push(`${headers[at]}: ${headers[at + 1]}`)
  socket.end(`${lines.join('\r\n')}\r\n\r\n${body}`)
}

/** Sends a refusal if there is a response object. */
export function refuseOnResponse(log: Log, res: ServerResponse, status: Malformed): void {
  const { headers, body } = refusal(log, res.socket, status)
  res.writeHead(status, headers)
  res.end(body)
}

function refusal(
  log: Log,
  socket: Socket | null,
  status: Malformed,
): { headers: string[]; body: string } {
  const requestId = randomUUID()
  const body = JSON.stringify({ error: STATUS_CODES[status], message: MESSAGES[status] })
  const address = loggable(socket?.remoteAddress)
  log.info({ request_id: requestId, status, address }, 'malformed request')
  const headers = [
    'X-Request-Id',
    requestId,
    ...FIXED_HEADERS,
    ...SAFE_HEADERS,
    'Content-Length',
    String(Buffer.byteLength(body)),
    'Connection',
    'close',
  ]
  return { headers, body }
}
