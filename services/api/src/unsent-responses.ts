import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/**
 * Requests of one connection that may wait for their responses at once. Few clients send a request
 * before the response to the one before (RFC 9112 9.3.2), and those that do are ready to repeat it
 * on another connection.
 */
export const PIPELINED_MAX = 16

/** Keeps the responses of each connection that are not sent yet, and limits them. */
export interface UnsentResponses {
  /**
   * Adds the response to a request that arrives; false if the request may not begin, since its
   * connection is at its limit, or was closed for that.
   */
  admit(res: ServerResponse): boolean
  /** The responses of a connection that may not be sent yet, oldest first; the last is the newest. */
  of(socket: Socket): readonly ServerResponse[]
}

const NONE: readonly ServerResponse[] = []

/**
 * Makes the lists. Without a limit a connection of few bytes would begin thousands of requests in
 * one turn of the event loop, and each would hold memory until the client reads.
 *
 * @param onFull destroys a connection that is at its limit when another request arrives on it
 */
export function limitUnsentResponses(onFull: (socket: Socket) => void): UnsentResponses {
  const lists = new WeakMap<Socket, ServerResponse[]>()
  return {
    admit: (res) => {
      const { socket } = res.req
      if (!socket.destroyed) {
        const unsent = lists.get(socket)
        if (unsent === undefined) lists.set(socket, [res])
        else if (add(unsent, res) > PIPELINED_MAX) onFull(socket)
      }
      if (socket.destroyed) stopParsing(socket)
      return !socket.destroyed
    },
    of: (socket) => lists.get(socket) ?? NONE,
  }
}

/** Adds a response in place of those that were sent, which go in order; returns how many there are. */
function add(unsent: ServerResponse[], res: ServerResponse): number {
  // Most clients send one request at a time.
  if (unsent.at(-1)?.writableFinished === true) unsent.length = 0
  while (unsent[0]?.writableFinished === true) unsent.shift()
  return unsent.push(res)
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
