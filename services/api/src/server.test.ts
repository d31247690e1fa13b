import { createLog } from '@plumbline/runtime/log'
import { createMetrics } from '@plumbline/runtime/metrics'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import type { Listening } from '@plumbline/runtime/listen'
import { listen, type ListenOptions } from './server.ts'
import { apiSettings } from './settings.ts'
import { callRaw } from '@plumbline/testkit/api/raw-client'

const MIB = 1_048_576
/** More bytes than any socket buffers. */
const MANY = 64 * MIB

let opened = new AsyncDisposableStack()
afterEach(async () => {
  await opened.disposeAsync()
  opened = new AsyncDisposableStack()
})

/** A server that refuses every request at once, and counts the requests. */
async function refusing(
  options: Partial<ListenOptions> = {},
  listener = (_req: IncomingMessage, res: ServerResponse): unknown =>
    res.writeHead(401, { 'Content-Length': 2 }).end('no'),
): Promise<{ server: Listening; port: number; asked: () => number }> {
  let count = 0
  const server = await listen(
    {
      log: createLog({ name: 'test', level: 'silent' }),
      metrics: createMetrics(),
      stopping: new AbortController().signal,
      settings: apiSettings.parse({ DATABASE_URL: 'postgres://unused' }),
    },
    (req, res) => {
      count += 1
      listener(req, res)
    },
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
  return { server, port: server.port, asked: () => count }
}

const post = (headers = ''): string => `POST /v1/batches HTTP/1.1\r\nHost: x\r\n${headers}\r\n`
const lengthOf = (bytes: number): string => `Content-Length: ${bytes}\r\n`

describe('a response sent before its request was received whole', () => {
  describe.each(['along', 'after'] as const)('reaches a client that reads %s', (reads) => {
    test.each([
      ['by length', post(lengthOf(MANY)), 401],
      ['in chunks', `${post('Transfer-Encoding: chunked\r\n')}${MANY.toString(16)}\r\n`, 401],
      ['and wants to be hung up on', post(`Connection: close\r\n${lengthOf(MANY)}`), 401],
      ['and did not wait for its 100', post(`Expect: 100-continue\r\n${lengthOf(MANY)}`), 401],
      ['and expects what there is not', post(`Expect: tea\r\n${lengthOf(MANY)}`), 417],
      ['and names no host', `POST / HTTP/1.1\r\n${lengthOf(MANY)}\r\n`, 400],
      ['and sends no HTTP', 'HELO mail\r\n', 400],
      ['and whose headers are too large', post(`X: ${'x'.repeat(20_000)}\r\n`), 431],
    ])('%s', async (_name, head, status) => {
      const { port } = await refusing()
      for (let round = 0; round < 3; round += 1) {
        const answer = await callRaw({ port, head, bytes: MANY, reads })
        expect([answer.status, answer.text]).toEqual([status, expect.stringMatching(/(no|\})$/)])
        expect(answer.text).toMatch(/^connection: close\r$/im)
        if (reads === 'after') expect(answer).toMatchObject({ sentBytes: MANY, fault: undefined })
      }
    })
  })

  test('reaches a client whose body turns out malformed', async () => {
    const { port } = await refusing()
    const head = post('Transfer-Encoding: chunked\r\n')
    const answer = await callRaw({ port, head, bytes: MANY, reads: 'after' })
    expect(answer).toMatchObject({ status: 401, sentBytes: MANY, fault: undefined })
  })

  test('keeps the connection open if the body was received whole', async () => {
    const { port, asked } = await refusing({}, (req, res) => {
      req.resume().once('end', () => res.writeHead(200, { 'Content-Length': 0 }).end())
    })
    const one = `${post(lengthOf(4))}body`
    const last = `${post(`${lengthOf(4)}Connection: close\r\n`)}body`
    const { text } = await callRaw({ port, head: one + one + last })
    expect(text.match(/^HTTP\/1\.1 200 /gm)).toHaveLength(3)
    expect(text.match(/^connection: keep-alive\r$/gim)).toHaveLength(2)
    expect(asked()).toBe(3)
  })

  test('closes the connection: what is sent after it is not read as a request', async () => {
    const { port, asked } = await refusing()
    const head = `${post(lengthOf(4))}body${post(lengthOf(4))}body`
    await callRaw({ port, head: `${post(lengthOf(200_000))}${'x'.repeat(200_000)}${head}` })
    expect(asked()).toBe(1)
  })
})

describe('a client that never stops sending is disconnected', () => {
  test('at the limit of bytes', async () => {
    const { port } = await refusing({ linger: { bytes: 8 * MIB } })
    const head = post(lengthOf(Number.MAX_SAFE_INTEGER))
    const { fault, sentBytes } = await callRaw({ port, head, bytes: Infinity, reads: 'after' })
    expect(fault).toMatch(/^(EPIPE|ECONNRESET)$/)
    expect(sentBytes).toBeGreaterThan(8 * MIB)
  })

  test('at the limit of time', async () => {
    const { port } = await refusing({ linger: { bytes: Infinity, totalMs: 300 } })
    const head = post(lengthOf(Number.MAX_SAFE_INTEGER))
    const startedAt = performance.now()
    const { fault } = await callRaw({ port, head, bytes: Infinity, reads: 'after' })
    expect(fault).toMatch(/^(EPIPE|ECONNRESET)$/)
    expect(performance.now() - startedAt).toBeGreaterThan(290)
  })

  test.each([
    ['a response', post(lengthOf(1_000))],
    ['a refusal by the HTTP server', 'HELO mail\r\n'],
  ])('if it sends slowly after %s', async (_name, head) => {
    const { port } = await refusing({ linger: { intervalMs: 200, minBytes: 1_000 } })
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    socket.on('error', () => undefined).resume()
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
    socket.write(head)
    const drip = setInterval(() => socket.write('x'), 20)
    await closed
    clearInterval(drip)
    expect(socket.destroyed).toBe(true)
  })

  test('when the server stops, after the time that running calls have', async () => {
    const { server, port, asked } = await refusing({ drainMs: 100 })
    const head = post(lengthOf(Number.MAX_SAFE_INTEGER))
    const cut = callRaw({ port, head, bytes: Infinity, reads: 'after' })
    await expect.poll(asked).toBe(1)
    await server[Symbol.asyncDispose]()
    expect((await cut).fault).toMatch(/^(EPIPE|ECONNRESET)$/)
  })
})

describe('refusals by the HTTP server itself', () => {
  test('408 for headers that do not end', async () => {
    const { port, asked } = await refusing({ times: { headersMs: 100, checkEveryMs: 50 } })
    const { status, text } = await callRaw({ port, head: 'POST /v1/email HTTP/1.1\r\nHost: x\r\n' })
    expect([status, asked()]).toEqual([408, 0])
    expectShape(text)
  })

  test('400 for malformed bytes after a valid request, after its response', async () => {
    const { promise: asked, resolve: ask } = Promise.withResolvers<ServerResponse>()
    const { port } = await refusing({}, (_req, res) => ask(res))
    const answer = callRaw({ port, head: 'GET / HTTP/1.1\r\nHost: x\r\n\r\nnonsense\r\n\r\n' })
    ;(await asked).writeHead(204).end()
    const { text } = await answer
    expect(text.match(/^HTTP\/1\.1 \d+/gm)).toEqual(['HTTP/1.1 204', 'HTTP/1.1 400'])
  })

  test('413 for endless chunk extensions, once the body is read', async () => {
    const { port } = await refusing({}, (req) => req.resume())
    const chunk = `5;${'x'.repeat(20_000)}\r\nhello\r\n0\r\n\r\n`
    const head = `${post('Transfer-Encoding: chunked\r\n')}${chunk}`
    const { status, text } = await callRaw({ port, head })
    expect(status).toBe(413)
    expectShape(text)
  })
})

function expectShape(text: string): void {
  expect(text).toMatch(/^x-request-id: [0-9a-f-]{36}\r$/im)
  expect(text).toMatch(/^connection: close\r$/im)
  const body: unknown = JSON.parse(text.slice(text.indexOf('\r\n\r\n')))
  expect(body).toEqual({ error: expect.any(String), message: expect.any(String) })
}

describe('requests that are sent before the responses to those before', () => {
  const request = 'GET /x HTTP/1.1\r\nHost: x\r\n\r\n'

  test('are each answered, sixteen at once', async () => {
    const { port, asked } = await refusing({}, (_req, res) => res.end('no'))
    const client = connect(port, '127.0.0.1')
    let text = ''
    client.on('data', (bytes: Buffer) => {
      text += bytes.toString()
    })
    const count = (): number => text.split('HTTP/1.1 200').length - 1
    for (const until of [16, 32]) {
      client.write(request.repeat(16))
      await expect.poll(count).toBe(until)
    }
    expect(asked()).toBe(32)
    client.destroy()
  })

  test('end their connection beyond that, and none of the others begins', async () => {
    const { port, asked } = await refusing({}, () => undefined)
    const client = connect(port, '127.0.0.1')
    client.on('error', () => undefined)
    const closed = new Promise((resolve) => client.once('close', resolve))
    client.write(request.repeat(2_000))
    await closed
    expect(asked()).toBe(16)
  })
})
