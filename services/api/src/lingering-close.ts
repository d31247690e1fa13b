import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** What a connection may still bring once its last answer is on the way. */
export interface LingerBounds {
  readonly bytes: number
  readonly totalMs: number
  /** How often it is looked at, and what it must have brought since, to be heard out further. */
  readonly lookMs: number
  readonly lookBytes: number
}

/**
 * Times as nginx has them (`lingering_time`, `lingering_timeout`). The least rate is that of uploads:
 * what comes slower is refused as an upload, too.
 */
export const LINGER: Omit<LingerBounds, 'bytes'> = {
  totalMs: 30_000,
  lookMs: 5_000,
  lookBytes: 80 * 1_024,
}

/**
 * Ends a connection so that its last answer arrives: says that nothing more comes, then reads and throws
 * away what the client still sends, until it hangs up or a bound is met. A connection that is closed with
 * bytes unread is reset, and the reset takes the answer with it (RFC 9112 9.6; RFC 1122 4.2.2.13).
 */
export function closeLingering(socket: Socket, bounds: LingerBounds): void {
  if (socket.destroyed) return
  if (socket.writable) socket.end()
  let left = bounds.bytes
  let leftAtLook = left
  discard(socket, (count) => {
    left -= count
    if (left < 0) socket.destroy()
  })
  const late = setTimeout(() => socket.destroy(), bounds.totalMs)
  const look = setInterval(() => {
    if (leftAtLook - left < bounds.lookBytes) socket.destroy()
    leftAtLook = left
  }, bounds.lookMs)
  socket.once('close', () => {
    clearTimeout(late)
    clearInterval(look)
  })
}

/** Takes the connection from the parser, so that nothing that still comes is a request, and reads on. */
function discard(socket: Socket, brought: (count: number) => void): void {
  const take = (): void => {
    socket.removeAllListeners('data')
    socket.on('data', (chunk: Buffer) => brought(chunk.length))
  }
  // Only the parser can start a connection that it paused, so it goes once it has.
  socket.pause()
  socket.once('resume', take).resume()
}

/**
 * Where the answer to a request begins before the request has wholly come, it says `Connection: close`,
 * and the connection then ends by `end`; other answers are left alone.
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

/** Safe because arguments are handed on as they came, and the answer is the same response. */
function asWriteHead<R extends ServerResponse>(
  judged: (...args: Parameters<R['writeHead']>) => ServerResponse,
): R['writeHead'] {
  return judged as R['writeHead']
}
