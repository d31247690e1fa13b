import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Limits of what a client may still send once its last response is being sent. */
export interface LingerBounds {
  readonly bytes: number
  readonly totalMs: number
  /**
   * Milliseconds between two checks of the connection, which is destroyed if fewer than `minBytes`
   * bytes have arrived in between.
   */
  readonly intervalMs: number
  readonly minBytes: number
}

/**
 * Times as nginx has them (`lingering_time`, `lingering_timeout`). The least rate is that of
 * uploads.
 */
export const LINGER: Omit<LingerBounds, 'bytes'> = {
  totalMs: 30_000,
  intervalMs: 5_000,
  minBytes: 80 * 1_024,
}

/**
 * Closes a connection so that its last response arrives: sends FIN, then reads and discards what
 * the client still sends, until the client closes it or a limit is reached. A connection that is
 * closed with unread bytes is reset, and the client may then lose the response (RFC 9112 9.6; RFC
 * 1122 4.2.2.13).
 */
export function closeLingering(socket: Socket, bounds: LingerBounds): void {
  if (socket.destroyed) return
  if (socket.writable) socket.end()
  let left = bounds.bytes
  let leftBefore = left
  discard(socket, (count) => {
    left -= count
    if (left < 0) socket.destroy()
  })
  const late = setTimeout(() => socket.destroy(), bounds.totalMs)
  const timer = setInterval(() => {
    if (leftBefore - left < bounds.minBytes) socket.destroy()
    leftBefore = left
  }, bounds.intervalMs)
  socket.once('close', () => {
    clearTimeout(late)
    clearInterval(timer)
  })
}

/**
 * Detaches the connection from the HTTP parser, so that no further request is read, and discards
 * what arrives.
 */
function discard(socket: Socket, brought: (count: number) => void): void {
  const take = (): void => {
    socket.removeAllListeners('data')
    socket.on('data', (chunk: Buffer) => brought(chunk.length))
  }
  // Only the parser can resume a socket that it paused, so it is detached after it has.
  socket.pause()
  socket.once('resume', take).resume()
}

/**
 * A response that begins before its request was received whole gets `Connection: close`, and its
 * connection is closed by `end`; other responses are unchanged.
 */
export function closeIfEarly(
  req: IncomingMessage,
  res: ServerResponse,
  end: (socket: Socket) => void,
): void {
  if (!hasBody(req)) return
  const writeHead = res.writeHead.bind(res)
  const judged = (...args: Parameters<typeof writeHead>): ServerResponse => {
    if (!req.complete) {
      res.shouldKeepAlive = false
      const { socket } = req
      // What the server calls once the last answer of a connection is written.
      socket.destroySoon = () => end(socket)
    }
    return writeHead(...args)
  }
  res.writeHead = asWriteHead(judged)
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'
}

/** Safe because the arguments are passed on unchanged, and the result is the same response. */
function asWriteHead<R extends ServerResponse>(
  judged: (...args: Parameters<R['writeHead']>) => ServerResponse,
): R['writeHead'] {
  return judged as R['writeHead']
}
