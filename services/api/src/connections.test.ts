import { createLog } from '@plumbline/runtime/log'
import { createMetrics } from '@plumbline/runtime/metrics'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { listen, type ListenOptions } from './server.ts'
import { apiSettings } from './settings.ts'
import { callRaw } from '@plumbline/testkit/api/raw-client'

let opened = new AsyncDisposableStack()
afterEach(async () => {
  await opened.disposeAsync()
  opened = new AsyncDisposableStack()
})

type Listener = (req: IncomingMessage, res: ServerResponse) => unknown

const sayOk: Listener = (_req, res) => res.writeHead(200, { 'Content-Length': 2 }).end('ok')

/** A server of calls, which counts the connections that it ends. */
async function serving(
  options: Partial<ListenOptions>,
  listener = sayOk,
): Promise<{ port: number; ended: () => Promise<string> }> {
  const metrics = createMetrics()
  const server = await listen(
    {
      log: createLog({ name: 'test', level: 'silent' }),
      metrics,
      stopping: new AbortController().signal,
      settings: apiSettings.parse({ DATABASE_URL: 'postgres://unused' }),
    },
    (req, res) => void listener(req, res),
    {
      host: '127.0.0.1',
      port: 0,
      maxConnections: 100,
      connectionsPerAddress: 100,
      sendTimeoutMs: 30_000,
      drainMs: 0,
      ...options,
    },
  )
  opened.use(server)
  return {
    port: server.port,
    ended: async () => metrics.registry.getSingleMetricAsString('connections_ended_total'),
  }
}

/** A connection that sends and reads nothing; resolves once it is open, or immediately reset. */
async function open(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1' })
  opened.defer(() => void socket.destroy())
  socket.on('error', () => undefined)
  await once(socket, 'connect').catch(() => undefined)
  return socket
}

const get = (headers: string): string => `GET / HTTP/1.1\r\n${headers}\r\n`
const last = 'Connection: close\r\n'

describe('the connections of one address', () => {
  test('beyond the limit are ended at once, and accepted again when others have closed', async () => {
    const { port, ended } = await serving({ connectionsPerAddress: 3 })
    const silent = [await open(port), await open(port), await open(port)]
    const refused = await open(port)
    if (!refused.closed) await once(refused, 'close')
    expect(await ended()).toContain('{reason="address_full"} 1')
    silent[0]?.destroy()
    await expect
      .poll(async () => (await callRaw({ port, head: get(`Host: x\r\n${last}`) })).status)
      .toBe(200)
  })

  test('are not counted for a trusted proxy', async () => {
    const isProxy = (address: string): boolean => address === '127.0.0.1'
    const { port } = await serving({ connectionsPerAddress: 1, isProxy })
    await open(port)
    await open(port)
    expect((await callRaw({ port, head: get(`Host: x\r\n${last}`) })).status).toBe(200)
  })
})

describe('a client that sends requests and does not read', () => {
  /** More bytes than the buffers of a connection hold. */
  const large = Buffer.alloc(64 * 1_024 * 1_024)

  test('is disconnected, and its waiting responses are dropped', async () => {
    const { promise: closed, resolve } = Promise.withResolvers<void>()
    const { port, ended } = await serving({ sendTimeoutMs: 300 }, (_req, res) => {
      res.once('close', resolve)
      res.end(large)
    })
    const socket = await open(port)
    socket.pause().write(get('Host: x\r\n'))
    await closed
    expect(await ended()).toContain('{reason="slow_reader"} 1')
  })

  test('is not disconnected while it waits for the service', async () => {
    const { promise: answer, resolve: letGo } = Promise.withResolvers<void>()
    const { port, ended } = await serving({ sendTimeoutMs: 60 }, async (req, res) => {
      await answer
      sayOk(req, res)
    })
    const waiting = callRaw({ port, head: get(`Host: x\r\n${last}`) })
    // Another client of the same time has been judged and ended meanwhile.
    const slow = await serving({ sendTimeoutMs: 300 }, (_req, res) => res.end(large))
    const socket = await open(slow.port)
    socket.pause().write(get('Host: x\r\n'))
    await expect.poll(slow.ended).toContain('{reason="slow_reader"} 1')
    letGo()
    expect((await waiting).status).toBe(200)
    expect(await ended()).not.toContain('slow_reader')
  })
})

describe('the Host header of a request', () => {
  test.each([
    ['once', 'Host: api.example.com:8080\r\n', 200],
    ['as an IPv6 address', 'Host: [2001:db8::1]:80\r\n', 200],
    ['as nothing', 'Host:\r\n', 200],
    ['twice', 'Host: a.example\r\nHost: b.example\r\n', 400],
    ['twice alike, in other letters', 'Host: a.example\r\nhOST: a.example\r\n', 400],
    ['not at all', '', 400],
    ['with what is no name', 'Host: a.example/path\r\n', 400],
    ['with two names', 'Host: a.example, b.example\r\n', 400],
    ['with a user', 'Host: user@a.example\r\n', 400],
  ])('%s', async (_name, headers, status) => {
    const { port } = await serving({})
    expect((await callRaw({ port, head: get(`${headers}${last}`) })).status).toBe(status)
  })

  test('may be absent in HTTP/1.0, and must not occur twice', async () => {
    const { port } = await serving({})
    const without = await callRaw({ port, head: 'GET / HTTP/1.0\r\n\r\n' })
    const twice = await callRaw({ port, head: 'GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n' })
    expect([without.status, twice.status]).toEqual([200, 400])
  })
})
