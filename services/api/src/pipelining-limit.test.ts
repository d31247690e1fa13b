import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { limitPipelining, PIPELINED_MAX } from './pipelining-limit.ts'

test('of a connection at its limit nothing more is parsed', async () => {
  let parsed = 0
  let admitted = 0
  const { admit } = limitPipelining((socket) => socket.resetAndDestroy())
  let before: ServerResponse | undefined
  await using server = createServer((_req, res) => {
    parsed += 1
    if (admit(res, before)) admitted += 1
    before = res
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
