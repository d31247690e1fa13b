import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { limitUnsentResponses, PIPELINED_MAX } from './unsent-responses.ts'

test('of a connection at its limit nothing more is parsed', async () => {
  let parsed = 0
  let admitted = 0
  const { admit } = limitUnsentResponses((socket) => socket.resetAndDestroy())
  await using server = createServer((_req, res) => {
    parsed += 1
    if (admit(res)) admitted += 1
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  // Safe because it listens on a port.
  const { port } = server.address() as AddressInfo
  const client = connect(port, '127.0.0.1')
  client.on('error', () => undefined)
  client.write('GET /x HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(1_000))
  await new Promise((resolve) => client.once('close', resolve))
  expect([admitted, parsed]).toEqual([PIPELINED_MAX, PIPELINED_MAX + 1])
})

test('responses that were sent do not count', async () => {
  let admitted = 0
  const { admit, of } = limitUnsentResponses((socket) => socket.resetAndDestroy())
  await using server = createServer((_req, res) => {
    if (admit(res)) admitted += 1
    res.end()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const connected = once(server, 'connection')
  // Safe because it listens on a port.
  const { port } = server.address() as AddressInfo
  const client = connect(port, '127.0.0.1').resume()
  for (let wave = 1; wave <= 3; wave += 1) {
    client.write('GET /x HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(PIPELINED_MAX))
    await expect.poll(() => admitted).toBe(wave * PIPELINED_MAX)
    const [socket] = await connected
    await expect.poll(() => of(socket).every((res) => res.writableFinished)).toBe(true)
  }
  client.destroy()
})
