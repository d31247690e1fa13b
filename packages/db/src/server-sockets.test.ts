import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { createServerSockets } from './server-sockets.ts'

test('bytes of open and closed sockets are counted together', async () => {
  const server = createServer((peer) => peer.end('seven b'))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  // Safe because it listens on a port.
  const { port } = server.address() as AddressInfo
  const sockets = createServerSockets()
  expect(sockets.receivedBytes()).toBe(0)
  const read = async (): Promise<void> => {
    // Safe because the driver, too, calls `connect` of what it is given.
    const socket = sockets.open() as Socket
    socket.connect(port, '127.0.0.1').resume()
    await once(socket, 'end')
    expect(sockets.receivedBytes() % 7).toBe(0)
    await once(socket, 'close')
  }
  await read()
  expect(sockets.receivedBytes()).toBe(7)
  await read()
  expect(sockets.receivedBytes()).toBe(14)
  server.close()
})
