import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { connect, createServer as createRawServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { expect, onTestFinished, test } from 'vitest'
import type { IpAddress } from './address.ts'
import { createEgress, DialError } from './egress.ts'
import type { Egress, Target } from './egress.ts'
import { fetchBounded } from './http.ts'
import type { FetchRequest, HttpAnswer } from './http.ts'
import type { Resolver } from './resolver.ts'

const NEVER = new AbortController().signal
const loopback = createEgress({ allow: ['127.0.0.0/8'] })

function hosts(table: Record<string, string>): Resolver {
  return {
    async resolve(name, type) {
      const address = type === 'A' ? table[name] : undefined
      if (address === undefined) return { kind: 'nxdomain', ttlSeconds: 1 }
      return { kind: 'records', records: [address] as never[], ttlSeconds: 60 }
    },
    ask: () => Promise.resolve({ kind: 'failed', reason: 'refused' }),
  }
}

async function serve(
  handler: (req: IncomingMessage, res: ServerResponse) => void,
): Promise<number> {
  const server = createServer(handler)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

async function serveRaw(handler: (socket: Socket) => void): Promise<number> {
  const server = createRawServer((socket) => {
    socket.on('error', () => undefined)
    onTestFinished(() => void socket.destroy())
    handler(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}

function get(url: string, more: Partial<FetchRequest> = {}): Promise<HttpAnswer> {
  return fetchBounded({
    url,
    maxBytes: 10_000,
    maxRedirects: 3,
    timeoutMs: 2_000,
    signal: NEVER,
    egress: loopback,
    resolver: hosts({ 'site.test': '127.0.0.1', 'evil.test': '10.0.0.1', 'own.test': '5.6.7.8' }),
    ...more,
  })
}

const textOf = (answer: HttpAnswer): string =>
  answer.kind === 'response' ? Buffer.from(answer.body).toString() : answer.reason

test('a response has status, headers and body, and the request the right host', async () => {
  const port = await serve((req, res) => {
    res.writeHead(404, { 'X-Seen': req.headers.host ?? '' })
    res.end('gone')
  })
  const answer = await get(`http://site.test:${port}/a?b=c`)
  expect(answer).toMatchObject({
    kind: 'response',
    status: 404,
    redirects: 0,
    headers: { 'x-seen': `site.test:${port}` },
  })
  expect(textOf(answer)).toBe('gone')
})

test('a body in any coding is decoded, and its limit applies to the decoded size', async () => {
  const packers = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync }
  const port = await serve((req, res) => {
    const [coding, size] = (req.url ?? '').slice(1).split('/')
    const text = Buffer.alloc(Number(size), 'x')
    const packed =
      coding === 'raw' ? deflateRawSync(text) : packers[coding as keyof typeof packers](text)
    res.writeHead(200, { 'content-encoding': coding === 'raw' ? 'deflate' : coding })
    res.end(packed)
  })
  for (const coding of ['gzip', 'deflate', 'raw', 'br']) {
    expect(textOf(await get(`http://site.test:${port}/${coding}/9000`))).toHaveLength(9_000)
    expect(textOf(await get(`http://site.test:${port}/${coding}/1000000`))).toBe('too_large')
  }
  const cut = await get(`http://site.test:${port}/gzip/5000000`, { overflow: 'cut' })
  expect(cut).toMatchObject({ kind: 'response', cut: true })
  expect(textOf(cut)).toHaveLength(10_000)
})

test('an endless body, a slow one and a silent server end at their limits', async () => {
  const endless = await serveRaw((socket) => {
    socket.write('HTTP/1.1 200 OK\r\n\r\n')
    const push = (): void => {
      while (!socket.destroyed && socket.write(Buffer.alloc(4_096))) continue
    }
    socket.on('drain', push)
    push()
  })
  expect(textOf(await get(`http://site.test:${endless}/`))).toBe('too_large')
  const silent = await serveRaw(() => undefined)
  expect(textOf(await get(`http://site.test:${silent}/`, { timeoutMs: 100 }))).toBe('timeout')
  const slow = await serveRaw((socket) => void socket.write('HTTP/1.1 200 OK\r\n\r\nx'))
  expect(textOf(await get(`http://site.test:${slow}/`, { timeoutMs: 100 }))).toBe('timeout')
})

test('redirects are followed up to the limit and checked on each hop', async () => {
  const asked: string[] = []
  const port = await serve((req, res) => {
    const to: Record<string, string> = {
      '/one': '/two',
      '/loop': '/loop',
      '/private': 'http://evil.test/',
      '/literal': 'http://[::ffff:10.0.0.1]/',
      '/file': 'file:///etc/passwd',
      '/user': 'http://user@site.test/',
      '/password': 'http://:pass@site.test/',
      '/long': `/${'x'.repeat(2_000)}`,
    }
    asked.push(req.url ?? '')
    const location = to[req.url ?? '']
    if (req.url === '/made') res.writeHead(201, { location: '/two' }).end('made')
    else if (location === undefined) res.end('here')
    else res.writeHead(302, { location }).end()
  })
  const at = (path: string): Promise<HttpAnswer> => get(`http://site.test:${port}${path}`)
  expect(await at('/one')).toMatchObject({ kind: 'response', status: 200, redirects: 1 })
  expect(textOf(await at('/made'))).toBe('made')
  asked.length = 0
  expect(textOf(await at('/loop'))).toBe('too_many_redirects')
  expect(asked).toHaveLength(4)
  expect(textOf(await at('/private'))).toBe('forbidden')
  expect(textOf(await at('/literal'))).toBe('forbidden')
  expect(textOf(await at('/file'))).toBe('bad_url')
  for (const path of ['/user', '/password', '/long']) {
    expect(textOf(await at(path))).toBe('bad_url')
  }
  expect(asked.slice(4)).toEqual(['/private', '/literal', '/file', '/user', '/password', '/long'])
})

/** An egress that sends everything to a port of this machine, and allows no address in particular. */
function egressTo(port: number, dialled: string[] = []): Egress {
  return {
    ...loopback,
    allowed: () => false,
    dial: async ({ tls, ...request }) => {
      dialled.push(`${tls === undefined ? 'plain' : 'tls'} ${request.port}`)
      return await loopback.dial({ ...request, port })
    },
  }
}

test('a redirect may not go from https to http', async () => {
  const port = await serve((req, res) => {
    const location = { '/down': 'http://site.test/', '/over': 'https://site.test/' }[req.url ?? '']
    if (location === undefined) res.end('here')
    else res.writeHead(302, { location }).end()
  })
  const dialled: string[] = []
  const egress = egressTo(port, dialled)
  expect(textOf(await get('https://site.test/down', { egress }))).toBe('forbidden')
  expect(dialled).toEqual(['tls 443'])
  expect(textOf(await get('https://site.test/over', { egress }))).toBe('here')
})

test('a redirect to an unusual port stays on its host, unless the address is allowed', async () => {
  const port = await serve((req, res) => {
    const to: Record<string, string> = {
      '/same': 'http://site.test:8080/',
      '/usual': 'http://127.0.0.1/',
      '/other': 'http://127.0.0.1:8080/',
      '/through': '/other',
      '/twice': 'http://127.0.0.1/other',
    }
    const location = to[req.url ?? '']
    if (location === undefined) res.end('here')
    else res.writeHead(302, { location }).end()
  })
  const dialled: string[] = []
  const egress = egressTo(port, dialled)
  const at = async (path: string, by: Egress): Promise<string> =>
    textOf(await get(`http://site.test:8080${path}`, { egress: by }))
  expect(await at('/same', egress)).toBe('here')
  expect(await at('/usual', egress)).toBe('here')
  dialled.length = 0
  for (const path of ['/other', '/through', '/twice']) {
    expect(await at(path, egress)).toBe('forbidden')
  }
  expect(dialled).toEqual(['plain 8080', 'plain 8080', 'plain 8080', 'plain 8080', 'plain 80'])
  expect(await at('/other', { ...egress, allowed: () => true })).toBe('here')
})

test('a request that is plain only to allowed addresses may be encrypted to any', async () => {
  const port = await serve((_req, res) => res.end('here'))
  const dialled: string[] = []
  const egress = egressTo(port, dialled)
  const plain = 'allowed'
  expect(textOf(await get('http://site.test/', { egress, plain }))).toBe('forbidden')
  expect(dialled).toEqual([])
  expect(textOf(await get('https://site.test/', { egress, plain }))).toBe('here')
  const allowing = { ...egress, allowed: () => true }
  expect(textOf(await get('http://site.test/', { egress: allowing, plain }))).toBe('here')
})

test('with redirects shown, the redirect is the response', async () => {
  const port = await serve((_req, res) => res.writeHead(302, { location: '/on' }).end('moved'))
  const answer = await get(`http://site.test:${port}/`, { maxRedirects: 'shown' })
  expect(answer).toMatchObject({ kind: 'response', status: 302, redirects: 0 })
  expect(textOf(answer)).toBe('moved')
})

test('credentials are not sent to another origin', async () => {
  const target = await serve((req, res) => res.end(JSON.stringify(req.headers)))
  const port = await serve((req, res) => {
    if (req.url === '/end') res.end(JSON.stringify(req.headers))
    else res.writeHead(307, { location: req.url === '/' ? '/end' : `http://127.0.0.1:${target}/` })
    res.end()
  })
  const headers = {
    Authorization: 'Bearer secret',
    Cookie: 'id=secret',
    'Proxy-Authorization': 'Basic secret',
    'X-Kept': 'y',
  }
  const elsewhere = textOf(await get(`http://site.test:${port}/other`, { headers }))
  expect(elsewhere).toContain('x-kept')
  expect(elsewhere).not.toContain('secret')
  const same = textOf(await get(`http://site.test:${port}/`, { headers }))
  expect(same.match(/secret/g)).toHaveLength(3)
})

test('a POST sends its body once, again for a 307 or 308, and a 303 turns it into a GET', async () => {
  const port = await serve((req, res) => {
    let body = ''
    req.on('data', (chunk) => (body += String(chunk)))
    req.on('end', () => {
      const status = { '/see': 303, '/again': 307, '/moved': 308 }[req.url ?? '']
      if (status !== undefined) res.writeHead(status, { location: '/then' }).end()
      else res.end(`${req.method} ${body}`)
    })
  })
  const send = { method: 'POST', body: '{"a":1}' } as const
  expect(textOf(await get(`http://site.test:${port}/`, send))).toBe('POST {"a":1}')
  expect(textOf(await get(`http://site.test:${port}/see`, send))).toBe('GET ')
  for (const path of ['again', 'moved']) {
    expect(textOf(await get(`http://site.test:${port}/${path}`, send))).toBe('POST {"a":1}')
  }
})

/** A resolver that gives every host these IPv4 addresses. */
function addresses(...records: string[]): Resolver {
  return {
    ...hosts({}),
    resolve: async (_name, type) =>
      type === 'A'
        ? { kind: 'records', records: records as never[], ttlSeconds: 60 }
        : { kind: 'nodata', ttlSeconds: 1 },
  }
}

test('a request that may have reached its server is not sent to another address', async () => {
  let asked = 0
  const port = await serveRaw((socket) => {
    asked += 1
    socket.on('data', () => void socket.destroy())
  })
  const resolver = addresses('127.0.0.1', '127.0.0.1')
  const url = `http://two.test:${port}/`
  const answer = await get(url, { resolver, method: 'POST', body: 'x' })
  expect(answer).toMatchObject({ kind: 'failed', reason: 'network', sent: true })
  expect(asked).toBe(1)
})

test('of a host with many addresses, three are tried', async () => {
  let dialled = 0
  const egress: Egress = {
    ...loopback,
    dial() {
      dialled += 1
      throw new DialError('network', 'refused')
    },
  }
  const resolver = addresses(...Array.from({ length: 9 }, (_, index) => `127.0.0.${index + 1}`))
  const answer = await get('http://many.test/', { egress, resolver })
  expect(answer).toMatchObject({ kind: 'failed', reason: 'network', sent: false })
  expect(dialled).toBe(3)
})

test('a connection whose response is not read is closed', async () => {
  const { promise: closed, resolve } = Promise.withResolvers<void>()
  const port = await serveRaw((socket) => {
    socket.on('close', resolve).resume()
    socket.write('HTTP/1.1 200 OK\r\ncontent-encoding: unknown\r\n\r\nx')
  })
  const answer = await get(`http://site.test:${port}/`, { timeoutMs: 600_000 })
  expect(textOf(answer)).toBe('bad_response')
  await closed
})

test('an address that does not reply leaves time for the next one of its host', async () => {
  const port = await serve((_req, res) => res.end('alive'))
  const givenMs: number[] = []
  const egress: Egress = {
    ...loopback,
    async dial(request) {
      if (request.address === '127.0.0.1') return loopback.dial(request)
      givenMs.push(request.timeoutMs)
      throw new DialError('timeout', 'no connect')
    },
  }
  const resolver: Resolver = {
    ...hosts({}),
    resolve: async (_name, type) => ({
      kind: 'records',
      records: (type === 'A' ? ['127.0.0.3', '127.0.0.1'] : ['::2']) as never[],
      ttlSeconds: 60,
    }),
  }
  const url = `http://two.test:${port}/`
  expect(textOf(await get(url, { egress, resolver, timeoutMs: 20_000 }))).toBe('alive')
  expect(givenMs).toHaveLength(1)
  expect(givenMs[0]).toBeLessThanOrEqual(7_000)
})

test('names that do not resolve, special addresses and refused ports each have their own reason', async () => {
  expect(textOf(await get('http://nowhere.test/'))).toBe('dns')
  expect(textOf(await get('http://evil.test/'))).toBe('forbidden')
  expect(textOf(await get('http://2130706433/', { egress: createEgress({ allow: [] }) }))).toBe(
    'forbidden',
  )
  expect(textOf(await get('http://127.0.0.1:1/'))).toBe('network')
  expect(textOf(await get('ftp://site.test/'))).toBe('bad_url')
})

test('a request to an own address of the machine is refused, by name, by address and by redirect', async () => {
  const isOwn = ({ value }: IpAddress): boolean => value === 0x05_06_07_08n
  const dialled: string[] = []
  const tcp = ({ address, port }: Target): Socket => {
    dialled.push(address)
    return connect(address === '127.0.0.1' ? port : 1, '127.0.0.1')
  }
  const egress = createEgress({ allow: ['127.0.0.0/8'], isOwn, connect: { tcp } })
  const port = await serve((_req, res) => res.writeHead(302, { location: '//own.test/' }).end())
  for (const url of [
    'https://own.test/',
    'https://5.6.7.8:8443/',
    'https://[::ffff:5.6.7.8]/',
    `http://site.test:${port}/`,
  ]) {
    expect(textOf(await get(url, { egress }))).toBe('forbidden')
  }
  expect(dialled).toEqual(['127.0.0.1'])
})

test('malformed replies, broken codings and switched protocols are bad responses', async () => {
  const garbage = await serveRaw((socket) => void socket.end('\x00\xff not http\r\n\r\n'))
  expect(textOf(await get(`http://site.test:${garbage}/`))).toBe('bad_response')
  const port = await serve((req, res) => {
    res.writeHead(200, { 'content-encoding': req.url === '/gzip' ? 'gzip' : 'zstd' })
    res.end('not packed at all')
  })
  expect(textOf(await get(`http://site.test:${port}/gzip`))).toBe('bad_response')
  expect(textOf(await get(`http://site.test:${port}/zstd`))).toBe('bad_response')
  const short = await serveRaw(
    (socket) => void socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nshort'),
  )
  expect(textOf(await get(`http://site.test:${short}/`))).toBe('bad_response')
  const other = await serveRaw(
    (socket) => void socket.write('HTTP/1.1 101 No\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n'),
  )
  expect(textOf(await get(`http://site.test:${other}/`))).toBe('bad_response')
})

test('if the head suffices, a status counts whatever happens to the body', async () => {
  const head = 'HTTP/1.1 202 OK\r\n'
  const garbage = await serveRaw(
    (socket) => void socket.write(`${head}content-encoding: gzip\r\ncontent-length: 4\r\n\r\nnope`),
  )
  const slow = await serveRaw((socket) => void socket.write(`${head}\r\nx`))
  const short = await serveRaw((socket) => void socket.end(`${head}content-length: 9\r\n\r\nx`))
  for (const port of [garbage, slow, short]) {
    const answer = await get(`http://site.test:${port}/`, { headSuffices: true, timeoutMs: 2_000 })
    expect(answer).toMatchObject({ kind: 'response', status: 202, cut: true })
    expect(textOf(answer)).toBe('')
  }
  const silent = await serveRaw(() => undefined)
  const none = await get(`http://site.test:${silent}/`, { headSuffices: true, timeoutMs: 100 })
  expect(textOf(none)).toBe('timeout')
})

test('an abort ends the request', async () => {
  const port = await serveRaw(() => undefined)
  const controller = new AbortController()
  const answer = get(`http://site.test:${port}/`, { signal: controller.signal })
  controller.abort()
  expect(textOf(await answer)).toBe('timeout')
})
