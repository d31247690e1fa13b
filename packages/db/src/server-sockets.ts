import { Socket } from 'node:net'
import type { ServerSockets } from '@plumbline/ports/server-sockets'

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
