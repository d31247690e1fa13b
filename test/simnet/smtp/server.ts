import { once } from 'node:events'
import { createServer } from 'node:net'
import type { Server, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { createSecureContext, TLSSocket } from 'node:tls'
import type { SecureContext } from 'node:tls'
import { hostCounters, violation } from '../counters.ts'
import type { Counters } from '../counters.ts'
import type { World } from '../world.ts'
import { createCertificate } from './certificate.ts'
import { FAULTS } from './faults.ts'
import { createLimitGroup, createServedHost } from './served.ts'
import type { LimitGroup, ServedHost } from './served.ts'
import { speak } from './session.ts'
import { delayed } from './wire.ts'

export interface SmtpServers extends AsyncDisposable {
  readonly port: number
}

export interface SmtpOptions {
  /** 0 for any that is free at every address. */
  readonly port: number
  /** Round-trip time of the wire to every mail host; 0 for none. */
  readonly rttMs: number
}

const DAY_MS = 86_400_000
const PORT_TRIES = 20

/** One listener for each mail host that has a profile, at its own address, all on one port. */
export async function startSmtp(
  world: World,
  counters: Counters,
  options: SmtpOptions,
): Promise<SmtpServers> {
  const secureContext = createContext()
  const groups = new Map<string, LimitGroup>()
  const served: ServedHost[] = []
  for (const host of [...world.hosts.values(), ...(world.bulk?.hosts ?? [])]) {
    if (host.profile === undefined) continue
    const key = host.profile.limitGroup ?? host.name
    const group = groups.get(key) ?? createLimitGroup()
    groups.set(key, group)
    const counted = { all: counters, host: hostCounters(counters, host.name) }
    served.push(createServedHost(world, host, host.profile, counted, group))
  }
  const open = new Set<Socket>()
  for (let tries = 1; ; tries++) {
    const servers: Server[] = []
    try {
      const port = await listenAll(served, servers, options.port, (socket, host) => {
        open.add(socket)
        socket.on('close', () => open.delete(socket))
        accept(socket, host, options.rttMs, secureContext)
      })
      return { port, [Symbol.asyncDispose]: () => stop(servers, open) }
    } catch (error) {
      await stop(servers, open)
      // A port that is free at one address may be taken at another.
      if (options.port !== 0 || tries === PORT_TRIES) throw error
    }
  }
}

async function listenAll(
  hosts: readonly ServedHost[],
  servers: Server[],
  given: number,
  onConnection: (socket: Socket, host: ServedHost) => void,
): Promise<number> {
  let port = given
  for (const host of hosts) {
    const server = createServer({ noDelay: true, allowHalfOpen: true }, (socket) =>
      onConnection(socket, host),
    )
    servers.push(server)
    server.listen({ port, host: host.address, backlog: 1024 })
    await once(server, 'listening')
    const bound = server.address()
    if (typeof bound === 'object' && bound !== null) port = bound.port
  }
  return port
}

async function stop(servers: readonly Server[], open: ReadonlySet<Socket>): Promise<void> {
  for (const socket of open) socket.destroy()
  await Promise.all(servers.map((server) => new Promise((done) => server.close(done))))
}

function createContext(): SecureContext {
  const nowMs = Date.now()
  const { cert, key } = createCertificate(
    'mail.simnet.example',
    nowMs - DAY_MS,
    nowMs + 30 * DAY_MS,
  )
  return createSecureContext({ cert, key })
}

/** Counts a connection, puts it behind its wire, and hands it to the host's dialogue or fault. */
function accept(
  socket: Socket,
  host: ServedHost,
  rttMs: number,
  secureContext: SecureContext,
): void {
  const { profile, texts, counters, group } = host
  const seen = counters.host
  seen.sessions++
  seen.sessionTimes.add(Date.now())
  seen.open++
  group.open++
  seen.mostOpen = Math.max(seen.mostOpen, seen.open)
  socket.on('error', () => undefined)
  socket.on('close', () => {
    seen.open--
    group.open--
  })
  const clientAddress = socket.remoteAddress ?? ''
  const wire: Duplex = rttMs > 0 ? delayed(socket, rttMs) : socket
  wire.on('error', () => undefined)
  if (profile.fault !== undefined) {
    FAULTS[profile.fault]?.play({ wire, socket, host, secureContext })
    return
  }
  if (group.open > (profile.limits?.maxConnections ?? Infinity)) {
    wire.end(texts.tooManyConnections, 'latin1')
    return
  }
  if (profile.refusal?.phase === 'banner') {
    wire.end(texts.refusal, 'latin1')
    return
  }
  const startTls = (secured: (wire: Duplex) => void): void => {
    if (profile.brokenTls !== undefined) breakTls(wire, profile.brokenTls)
    else secure(wire, secureContext, host, secured)
  }
  const greet = (): void => {
    if (wire.destroyed) return
    if (wire.readableLength > 0) violation(counters.all, 'commands before the banner')
    wire.write(texts.banner, 'latin1')
    speak(wire, { host, clientAddress, startTls })
  }
  // A client on a real wire has its connection one round trip after asking, the banner half a one later still.
  const bannerMs = (profile.bannerDelayMs ?? 0) + rttMs * 1.5
  if (bannerMs === 0) greet()
  else setTimeout(greet, bannerMs)
}

function secure(
  wire: Duplex,
  secureContext: SecureContext,
  host: ServedHost,
  secured: (wire: Duplex) => void,
): void {
  // TLSSocket takes any duplex; its type names only net.Socket.
  const tls = new TLSSocket(wire as Socket, { isServer: true, secureContext })
  tls.on('error', () => wire.destroy())
  tls.on('secure', () => {
    host.counters.host.tlsSessions++
    secured(tls)
  })
}

function breakTls(wire: Duplex, how: string): void {
  if (how === 'close') wire.destroy()
  else if (how === 'garbage') wire.write(Buffer.alloc(512, 0xa5))
  else if (how === 'plaintext') wire.write('250 2.0.0 go on in the clear\r\n', 'latin1')
  wire.resume()
}
