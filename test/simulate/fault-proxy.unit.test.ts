import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { expect, test, vi } from 'vitest'
import type { InjectedFault } from './connection-fault.ts'
import { openFaultProxy, type FaultProxy } from './fault-proxy.ts'
import type { Owner, VirtualTime } from './virtual-time.ts'

/** A server that echoes, behind a proxy whose time the test advances. */
interface Proxied extends AsyncDisposable {
  readonly proxy: FaultProxy
  readonly owner: Owner
  readonly injected: InjectedFault[]
  /** What the server has received, and how many of its connections are open. */
  readonly received: string[]
  readonly served: Set<Socket>
  client(): Promise<Client>
  advance(ms: number): void
}

interface Client {
  readonly socket: Socket
  /** What the server has replied. */
  heard(): string
}

async function openProxied(): Promise<Proxied> {
  const received: string[] = []
  const served = new Set<Socket>()
  const server = createServer((socket) => {
    served.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => served.delete(socket))
    socket.on('data', (piece) => {
      received.push(piece.toString())
      socket.write(`re ${piece.toString()}`)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  // Safe because a server that listens on a port has such an address.
  const { port } = server.address() as AddressInfo
  let nowMs = 0
  const waiting: { readonly untilMs: number; readonly resolve: () => void }[] = []
  const time: VirtualTime = {
    nowMs: () => nowMs,
    nextMs: () => undefined,
    advanceTo: () => undefined,
    run: (_owner, work) => work(),
    wait: (ms) => new Promise((resolve) => waiting.push({ untilMs: nowMs + ms, resolve })),
  }
  const owner: Owner = { name: 'checks-0', isDead: false, frozenUntilMs: 0 }
  const injected: InjectedFault[] = []
  const proxy = await openFaultProxy({
    kind: 'redis',
    target: `redis://127.0.0.1:${port}`,
    time,
    owner,
    isPooled: false,
    gate: { open: Promise.resolve() },
    onFault: (fault) => void injected.push(fault),
  })
  const clients: Socket[] = []
  return {
    proxy,
    owner,
    injected,
    received,
    served,
    client: async () => {
      let text = ''
      const socket = connect(Number(new URL(proxy.url).port), '127.0.0.1')
      clients.push(socket)
      socket.on('error', () => undefined)
      socket.on('data', (piece) => (text += piece.toString()))
      await once(socket, 'connect')
      return { socket, heard: () => text }
    },
    advance: (ms) => {
      nowMs += ms
      for (const { untilMs, resolve } of waiting) if (untilMs <= nowMs) resolve()
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of [...clients, ...served]) socket.destroy()
      await proxy[Symbol.asyncDispose]()
      await new Promise((closed) => server.close(closed))
    },
  }
}

test('a connection that goes silent before a request delivers it, and the later ones, when that is over', async () => {
  await using at = await openProxied()
  const [silent, other] = [await at.client(), await at.client()]
  at.proxy.arm('silence_request', 1, 5_000)
  silent.socket.write('one ')
  await vi.waitFor(() => expect(at.injected).toHaveLength(1))
  silent.socket.write('two ')
  other.socket.write('other ')
  await vi.waitFor(() => expect(other.heard()).toBe('re other '))
  expect(at.received).toEqual(['other '])
  expect(at.proxy.isSilent(silent.socket.localPort)).toBe(true)
  expect(at.proxy.isSilent(other.socket.localPort)).toBe(false)
  expect(at.proxy.inFlight()).toEqual([])
  at.advance(5_000)
  await vi.waitFor(() => expect(silent.heard().replaceAll('re ', '')).toBe('one two '))
})

test('a request before which its connection does not go silent takes effect, and its reply comes when that is over', async () => {
  await using at = await openProxied()
  const silent = await at.client()
  at.proxy.arm('silence_reply', 1, 5_000)
  silent.socket.write('one ')
  await vi.waitFor(() => expect(at.received).toEqual(['one ']))
  silent.socket.write('two ')
  const other = await at.client()
  other.socket.write('other ')
  await vi.waitFor(() => expect(other.heard()).toBe('re other '))
  expect(silent.heard()).toBe('')
  at.advance(5_000)
  await vi.waitFor(() => expect(silent.heard().replaceAll('re ', '')).toBe('one two '))
})

test('a connection that is silent for ever ends only when its process closes it', async () => {
  await using at = await openProxied()
  const silent = await at.client()
  silent.socket.write('one ')
  await vi.waitFor(() => expect(silent.heard()).toBe('re one '))
  at.proxy.arm('silence_request', 1, Infinity)
  silent.socket.write('two ')
  await vi.waitFor(() => expect(at.injected).toHaveLength(1))
  at.proxy.cut()
  await vi.waitFor(() => expect(at.served.size).toBe(0))
  at.advance(86_400_000)
  const other = await at.client()
  other.socket.write('other ')
  await vi.waitFor(() => expect(other.heard()).toBe('re other '))
  expect(silent.socket.destroyed).toBe(false)
  silent.socket.destroy()
  await vi.waitFor(() => expect(at.proxy.isSilent(silent.socket.localPort)).toBe(false))
})

test('a connection on which a process listens goes silent without a request', async () => {
  await using at = await openProxied()
  const [plain, listener] = [await at.client(), await at.client()]
  plain.socket.write('set ')
  listener.socket.write('subscribe ')
  await vi.waitFor(() => expect(listener.heard()).toBe('re subscribe '))
  at.proxy.arm('silence_listener', 1, 5_000)
  expect(at.injected).toEqual([{ fault: 'silence_listener', forMs: 5_000 }])
  expect(at.proxy.isSilent(listener.socket.localPort)).toBe(true)
  expect(at.proxy.isSilent(plain.socket.localPort)).toBe(false)
})

test('a process that is suspended at a request has sent it, and hears the reply when it continues', async () => {
  await using at = await openProxied()
  const [client, other] = [await at.client(), await at.client()]
  at.proxy.arm('suspend', 2, 5_000)
  client.socket.write('one ')
  await vi.waitFor(() => expect(client.heard()).toBe('re one '))
  client.socket.write('two ')
  await vi.waitFor(() => expect(at.received).toEqual(['one ', 'two ']))
  expect(at.owner.frozenUntilMs).toBe(5_000)
  other.socket.write('other ')
  at.advance(4_999)
  expect(client.heard()).toBe('re one ')
  expect(at.received).toEqual(['one ', 'two '])
  at.advance(1)
  await vi.waitFor(() => expect(client.heard()).toBe('re one re two '))
  await vi.waitFor(() => expect(other.heard()).toBe('re other '))
})
