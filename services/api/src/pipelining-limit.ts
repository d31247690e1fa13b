import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/**
 * Requests of one connection that may wait for their responses at once. Few clients send a request
 * before the response to the one before (RFC 9112 9.3.2), and those that do are ready to repeat it
 * on another connection.
 */
export const PIPELINED_MAX = 16

/** Limits how many requests of a connection are under way. */
export interface PipeliningLimit {
  /**
   * Whether a request may begin; false if its connection is at its limit, or was closed for that.
   *
   * @param before the response to the request before it on the connection
   */
  admit(res: ServerResponse, before: ServerResponse | undefined): boolean
}

/**
 * Makes the limit. Without it a connection of few bytes would begin thousands of requests in one
 * turn of the event loop, and each would hold memory until the client reads.
 *
 * @param onFull destroys a connection that is at its limit when another request arrives on it
 */
export function limitPipelining(onFull: (socket: Socket) => void): PipeliningLimit {
  // Only of connections that pipeline; of all others the response before was sent.
  const unsent = new WeakMap<Socket, readonly ServerResponse[]>()
  return {
    admit: (res, before) => {
      const { socket } = res.req
      if (!socket.destroyed && before !== undefined && !before.writableFinished) {
        const earlier = unsent.get(socket)
        const all = earlier?.at(-1) === before ? earlier : [before]
        const waiting = all.filter((each) => !each.writableFinished)
        if (waiting.length >= PIPELINED_MAX) onFull(socket)
        else unsent.set(socket, [...waiting, res])
      }
      if (socket.destroyed) stopParsing(socket)
      return !socket.destroyed
    },
  }
}

/**
 * Keeps Node from parsing the rest of what has arrived on a destroyed connection: it would make a
 * request, a response and an error of each request in it, thousands at once. There is no public way;
 * the parser is told that the rest is of another protocol. Source: Node 24, `parserOnIncoming` in
 * `lib/_http_server.js`.
 */
function stopParsing(socket: Socket): void {
  const parser: unknown = Reflect.get(socket, 'parser')
  if (typeof parser === 'object' && parser !== null)
    Reflect.set(parser, 'onIncoming', () => UPGRADED)
}

const UPGRADED = 2
