import { request } from 'node:http'
import { afterEach, describe, expect, test } from 'vitest'
import { listenForAdmin, type AdminProgram } from './admin-server.ts'
import { createMetrics } from './metrics.ts'

const TOKEN = 'token-of-the-operator'
const PAGE = '/page'

const program: AdminProgram = {
  registry: createMetrics().registry,
  onError: () => undefined,
  readiness: async () => ({ ready: true, detail: { checks: ['a detail'] } }),
  more: async (req, res) => {
    if (req.url !== PAGE) return false
    res.writeHead(200).end('a page')
    return true
  },
}

let opened = new AsyncDisposableStack()
afterEach(async () => {
  await opened.disposeAsync()
  opened = new AsyncDisposableStack()
})

interface Ask {
  readonly host?: string
  readonly token?: string
  readonly method?: string
}

/** A server on that address, and a function that sends requests to it. */
async function serving(
  host: string,
  token?: string,
): Promise<(path: string, ask?: Ask) => Promise<{ status: number; body: string }>> {
  const { port } = opened.use(await listenForAdmin(program, { host, port: 0, token }))
  return (path, ask = {}) => {
    const { promise, resolve, reject } = Promise.withResolvers<{ status: number; body: string }>()
    const headers = {
      ...(ask.host === undefined ? {} : { host: ask.host }),
      ...(ask.token === undefined ? {} : { authorization: `Bearer ${ask.token}` }),
    }
    const sent = request(
      { host: '127.0.0.1', port, path, headers, method: ask.method ?? 'GET' },
      (res) => {
        let body = ''
        res.setEncoding('utf8').on('data', (text: string) => (body += text))
        res.on('end', () => resolve({ status: res.statusCode ?? 0, body }))
      },
    )
    sent.on('error', reject).end()
    return promise
  }
}

describe('on loopback', () => {
  test.each([
    ['localhost:9090', 200],
    ['LocalHost', 200],
    ['127.0.0.1:1', 200],
    ['[::1]:9090', 200],
    ['rebound.example', 421],
    ['rebound.example:9090', 421],
    ['localhost.rebound.example', 421],
    ['127.0.0.1.rebound.example', 421],
  ])('answers a request to %j with %i', async (host, status) => {
    const ask = await serving('127.0.0.1')
    expect((await ask('/livez', { host })).status).toBe(status)
  })

  test("shows metrics, probes with their detail, and the program's own pages", async () => {
    const ask = await serving('127.0.0.1', TOKEN)
    expect((await ask('/metrics')).body).toContain('process_cpu_seconds_total')
    expect(await ask('/livez')).toEqual({ status: 200, body: 'ok\n' })
    expect(JSON.parse((await ask('/readyz')).body)).toEqual({ ready: true, checks: ['a detail'] })
    expect((await ask(PAGE)).body).toBe('a page')
    expect((await ask('/none')).status).toBe(404)
    expect((await ask('/metrics', { method: 'POST' })).status).toBe(405)
  })
})

describe('on another address', () => {
  test('shows metrics and probes without detail to every client, whatever the Host', async () => {
    const ask = await serving('0.0.0.0')
    expect((await ask('/metrics', { host: 'api.internal:9090' })).status).toBe(200)
    expect(JSON.parse((await ask('/readyz')).body)).toEqual({ ready: true })
    expect((await ask(PAGE)).status).toBe(403)
    expect((await ask(PAGE, { token: 'undefined' })).status).toBe(403)
  })

  test('shows the rest to a client with the token', async () => {
    const ask = await serving('0.0.0.0', TOKEN)
    expect((await ask(PAGE, { token: TOKEN })).body).toBe('a page')
    expect(JSON.parse((await ask('/readyz', { token: TOKEN })).body)).toHaveProperty('checks')
    expect((await ask(PAGE, { token: `${TOKEN}x` })).status).toBe(403)
    expect((await ask(PAGE)).status).toBe(403)
  })
})
