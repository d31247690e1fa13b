import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { expect, test } from 'vitest'
import { ask, brief, testEngine, zoneOf } from './engine-fixture.ts'
import { startSmtp } from './smtp-fixture.ts'

const zone = zoneOf({ 'far.test': '127.0.0.1', 'inside.test': '10.0.0.7' })
const smtp = { heloName: 'verifier.sender.test', mailFrom: 'verify@sender.test' }

test('a mailbox is probed through the SOCKS5 proxy only', async () => {
  await using server = await startSmtp({})
  await using proxy = await startProxy('ada', 'secret')
  await using engine = testEngine(server.port, zone, {
    smtp: { ...smtp, port: server.port, proxyUrl: `socks5://ada:secret@127.0.0.1:${proxy.port}` },
  })
  const [answer] = await ask(engine, ['someone@far.test'])
  expect(brief(answer)).toBe('deliverable accepted')
  expect(proxy.targets).toEqual([`127.0.0.1:${server.port}`])
  expect(server.sessions.all).toBe(1)
})

test('the proxy is not asked to connect to an internal address', async () => {
  await using proxy = await startProxy('ada', 'secret')
  await using engine = testEngine(25, zone, {
    smtp: { ...smtp, port: 25, proxyUrl: `socks5://ada:secret@127.0.0.1:${proxy.port}` },
  })
  const [answer] = await ask(engine, ['someone@inside.test'])
  expect(brief(answer)).toBe('unknown unsafe_host')
  expect(proxy.targets).toEqual([])
})

test.each([
  ['refuses our password', 'socks5://ada:wrong@127.0.0.1', true],
  ['is down', 'socks5://ada:secret@127.0.0.1', false],
])('a proxy that %s makes no address invalid', async (_what, url, isUp) => {
  await using server = await startSmtp({})
  const proxy = await startProxy('ada', 'secret')
  if (!isUp) await proxy[Symbol.asyncDispose]()
  await using engine = testEngine(server.port, zone, {
    smtp: { ...smtp, port: server.port, proxyUrl: `${url}:${proxy.port}` },
  })
  const [answer] = await ask(engine, ['someone@far.test'])
  expect(brief(answer)).toBe('unknown connect_failed')
  expect(server.sessions.all).toBe(0)
  if (isUp) await proxy[Symbol.asyncDispose]()
})

test.each(['http://127.0.0.1:1080', 'socks5://proxy.test:1080', 'nonsense'])(
  'the proxy %s is refused at the start',
  (proxyUrl) => {
    expect(() => testEngine(25, zone, { smtp: { ...smtp, port: 25, proxyUrl } })).toThrow('proxy')
  },
)

interface Proxy extends AsyncDisposable {
  readonly port: number
  /** Addresses that the proxy was asked to connect to. */
  readonly targets: string[]
}

/** A SOCKS5 server for CONNECT to IPv4 addresses, with a user (RFC 1928, RFC 1929). */
async function startProxy(user: string, password: string): Promise<Proxy> {
  const targets: string[] = []
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    void serve(socket, user, password, targets).catch(() => socket.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    targets,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function serve(
  socket: Socket,
  user: string,
  password: string,
  targets: string[],
): Promise<void> {
  const hello = await nextChunk(socket)
  expect(hello[0]).toBe(5)
  socket.write(Buffer.from([5, 2]))
  const login = await nextChunk(socket)
  const userEnd = 2 + (login[1] ?? 0)
  const isKnown =
    login.toString('latin1', 2, userEnd) === user &&
    login.toString('latin1', userEnd + 1) === password
  socket.write(Buffer.from([1, isKnown ? 0 : 1]))
  if (!isKnown) return void socket.end()
  const request = await nextChunk(socket)
  const host = [...request.subarray(4, 8)].join('.')
  const port = request.readUInt16BE(8)
  targets.push(`${host}:${port}`)
  const far = connect(port, host)
  far.on('error', () => socket.destroy())
  await once(far, 'connect')
  socket.write(Buffer.from([5, 0, 0, 1, 127, 0, 0, 1, 0, 0]))
  socket.pipe(far).pipe(socket)
}

async function nextChunk(socket: Socket): Promise<Buffer> {
  const [chunk]: unknown[] = await once(socket, 'data')
  if (!Buffer.isBuffer(chunk)) throw new Error('expected bytes')
  return chunk
}
