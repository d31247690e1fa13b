import { createServer } from 'node:http'
import { expect, test } from 'vitest'
import { bindServer, closeServer } from './listen.ts'
import { startFault } from './start.ts'

test('a port that is taken is named by its settings', async () => {
  const first = createServer()
  const { port } = await bindServer(first, '127.0.0.1', 0, 'PORT')
  const fault: unknown = await bindServer(createServer(), '127.0.0.1', port, 'PORT').catch(
    (error: unknown) => error,
  )
  await closeServer(first, 0)
  expect(startFault(fault)).toBe(
    `the address of PORT cannot be listened on: listen EADDRINUSE: address already in use 127.0.0.1:${port}`,
  )
})
