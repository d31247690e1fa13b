import { Agent as PlainAgent, request as plainRequest, type IncomingMessage } from 'node:http'
import { Agent as SecureAgent, request as secureRequest } from 'node:https'

/** Time-outs of a store: to connect, until the reply begins, and between two bytes of it. */
export interface RequestTimes {
  readonly connectMs: number
  readonly replyMs: number
  readonly idleMs: number
}

/** Connections to one store. */
export interface StoreConnections extends Disposable {
  /**
   * Sends one request; resolves with the head of its reply.
   *
   * @throws if none comes in time
   */
  send(request: OutgoingRequest): Promise<IncomingMessage>
}

/** One request, its headers as they are sent. */
export interface OutgoingRequest {
  readonly method: string
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

/** Maximum number of concurrent connections; a download holds one for as long as it is read. */
const MOST_CONNECTIONS = 200

/** Makes an empty connection pool; connections are kept open for the next request. */
export function openStoreConnections(times: RequestTimes): StoreConnections {
  const plain = new PlainAgent({ keepAlive: true, maxSockets: MOST_CONNECTIONS })
  const secure = new SecureAgent({ keepAlive: true, maxSockets: MOST_CONNECTIONS })
  return {
    send: async ({ method, url, headers, body }) => {
      const sent =
        url.protocol === 'https:'
          ? secureRequest(url, { method, headers, agent: secure })
          : plainRequest(url, { method, headers, agent: plain })
      return await new Promise((resolve, reject) => {
        const giveUp = (what: string, ms: number): void => {
          const error = new Error(`the store ${what} within ${ms / 1000} s`)
          sent.destroy(Object.assign(error, { code: 'ETIMEDOUT' }))
        }
        const { connectMs, replyMs } = times
        let timer = setTimeout(giveUp, replyMs, 'had no connection free', replyMs)
        const awaitReply = (): void => {
          clearTimeout(timer)
          timer = setTimeout(giveUp, replyMs, 'did not reply', replyMs)
        }
        sent.on('socket', (socket) => {
          if (!socket.connecting) {
            awaitReply()
            return
          }
          clearTimeout(timer)
          timer = setTimeout(giveUp, connectMs, 'was not reached', connectMs)
          socket.once(url.protocol === 'https:' ? 'secureConnect' : 'connect', awaitReply)
        })
        sent.once('response', (reply) => {
          clearTimeout(timer)
          endWhenIdle(reply, times.idleMs)
          resolve(reply)
        })
        sent.once('error', (error) => {
          clearTimeout(timer)
          reject(error)
        })
        sent.end(body)
      })
    },
    [Symbol.dispose]: () => {
      plain.destroy()
      secure.destroy()
    },
  }
}

/** Ends a body if its sender is silent; a slow reader does not count. */
function endWhenIdle(reply: IncomingMessage, idleMs: number): void {
  const { socket } = reply
  const onIdle = (): void => {
    if (reply.readableLength > 0) socket.setTimeout(idleMs)
    else reply.destroy(new Error(`the store sent nothing for ${idleMs / 1000} s`))
  }
  socket.setTimeout(idleMs, onIdle)
  reply.once('close', () => {
    socket.setTimeout(0)
    socket.off('timeout', onIdle)
  })
}
