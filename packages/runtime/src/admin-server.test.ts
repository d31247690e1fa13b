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
  readonly authorization?: string
  readonly method?: string
}

interface Answer {
  readonly status: number
  readonly body: string
  /** The ways to authenticate that the answer names. */
  readonly challenge: string | undefined
}

/** A server on that address, and a function that sends requests to it. */
async function serving(
  host: string,
  token?: string,
): Promise<(path: string, ask?: Ask) => Promise<Answer>> {
  const { port } = opened.use(await listenForAdmin(program, { host, port: 0, token }))
  return (path, ask = {}) => {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    const headers = {
      ...(ask.host === undefined ? {} : { host: ask.host }),
      ...(ask.authorization === undefined ? {} : { authorization: ask.authorization }),
    }
    const sent = request(
      { host: '127.0.0.1', port, path, headers, method: ask.method ?? 'GET' },
      (res) => {
        let body = ''
        res.setEncoding('utf8').on('data', (text: string) => (body += text))
        const challenge = res.headers['www-authenticate']
        res.on('end', () => resolve({ status: res.statusCode ?? 0, body, challenge }))
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
    expect(await ask('/livez')).toMatchObject({ status: 200, body: 'ok\n' })
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
    expect(await ask(PAGE)).toMatchObject({ status: 403, challenge: undefined })
    expect((await ask(PAGE, { authorization: 'Bearer undefined' })).status).toBe(403)
    expect((await ask(PAGE, { authorization: basic('operator', '') })).status).toBe(403)
  })

  test.each([
    ['Bearer', `Bearer ${TOKEN}`],
    ['Basic, as a browser sends it', basic('ada', TOKEN)],
    ['Basic, without a name', basic('', TOKEN)],
  ])('shows the rest to a client with the token as %s', async (_, authorization) => {
    const ask = await serving('0.0.0.0', TOKEN)
    expect((await ask(PAGE, { authorization })).body).toBe('a page')
    expect(JSON.parse((await ask('/readyz', { authorization })).body)).toHaveProperty('checks')
  })

  test.each([
    ['no token', undefined],
    ['a longer one', `Bearer ${TOKEN}x`],
    ['another password', basic('ada', `${TOKEN}x`)],
    ['the token as name', basic(TOKEN, '')],
    ['the token without a name', `Basic ${Buffer.from(TOKEN).toString('base64')}`],
    ['the token after another colon', basic('ada', `x:${TOKEN}`)],
    ['no base64', 'Basic %%%%'],
    ['another scheme', `Digest ${TOKEN}`],
  ])('asks a client with %s to authenticate', async (_, authorization) => {
    const ask = await serving('0.0.0.0', TOKEN)
    const sent = authorization === undefined ? {} : { authorization }
    const answer = await ask(PAGE, sent)
    expect(answer).toMatchObject({
      status: 401,
      challenge: expect.stringContaining('Basic realm='),
    })
    expect(JSON.parse((await ask('/readyz', sent)).body)).toEqual({ ready: true })
  })
})

function basic(name: string, password: string): string {
  return `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`
}
