import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'

/** Sockets to one server, over which its bytes are counted. */
export interface ServerSockets {
  /** Makes the socket of a new connection, as the driver would. */
  open(): Duplex
  /** Bytes received over all sockets, closed ones included; those of TLS as they were sent. */
  receivedBytes(): number
}

/** Makes the sockets of the pools that connect to one server. */
export function createServerSockets(): ServerSockets {
  const sockets = new Set<Socket>()
  let ofClosed = 0
  return {
    open() {
      const socket = new Socket()
      sockets.add(socket)
      socket.once('close', () => {
        sockets.delete(socket)
        ofClosed += socket.bytesRead
      })
      return socket
    },
    receivedBytes() {
      let sum = ofClosed
      for (const { bytesRead } of sockets) sum += bytesRead
      return sum
    },
  }
}
