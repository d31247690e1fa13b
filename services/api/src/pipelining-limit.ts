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
   * Counts a request until its response is sent; false if its connection is at its limit, or was
   * closed for that.
   */
  admit(res: ServerResponse): boolean
}

/**
 * Makes the limit. Without it a connection of few bytes would begin thousands of requests in one
 * turn of the event loop, and each would hold memory until the client reads.
 *
 * @param onFull called with a connection that is at its limit when another request arrives on it
 */
export function limitPipelining(onFull: (socket: Socket) => void): PipeliningLimit {
  const counts = new WeakMap<Socket, number>()
  return {
    admit: (res) => {
      const { socket } = res.req
      // The parser goes on to the end of what has arrived.
      if (socket.destroyed) return false
      const count = counts.get(socket) ?? 0
      if (count >= PIPELINED_MAX) {
        onFull(socket)
        return false
      }
      counts.set(socket, count + 1)
      res.once('close', () => counts.set(socket, (counts.get(socket) ?? 1) - 1))
      return true
    },
  }
}
