import { createServer } from 'node:net'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { createSecureContext, TLSSocket } from 'node:tls'
import type { SecureContext } from 'node:tls'
import { hostCounters, countViolation } from '../counters.ts'
import type { Counters } from '../counters.ts'
import { listenAt, onOnePort } from '../one-port.ts'
import type { Listeners } from '../one-port.ts'
import type { World } from '../world.ts'
import { createCertificate } from './certificate.ts'
import { FAULTS } from './faults.ts'
import { createLimitGroup, createServedHost } from './served.ts'
import type { LimitGroup, ServedHost } from './served.ts'
import { serveSession } from './session.ts'
import { withLatency } from './latency.ts'

/** Port and latency of mail hosts. */
export interface SmtpOptions {
  /** Port of all hosts; 0: any port that is free at every address. */
  readonly port: number
  /** Simulated round-trip time to every mail host, in ms. */
  readonly rttMs: number
}

const DAY_MS = 86_400_000
/** Starts each mail host that has a profile at its own address, all on one port. */
export function startSmtp(
  world: World,
  counters: Counters,
  options: SmtpOptions,
): Promise<Listeners> {
  const secureContext = createContext()
  const hosts = serveHosts(world, counters)
  return onOnePort(options.port, async (given, opened) => {
    const connections = new Set<Socket>()
    let bound = given
    for (const host of hosts) {
      const server = createServer({ noDelay: true, allowHalfOpen: true }, (socket) => {
        connections.add(socket)
        socket.on('close', () => connections.delete(socket))
        accept(socket, host, options.rttMs, secureContext)
      })
      bound = await listenAt(server, host.address, bound, opened)
    }
    opened.defer(() => {
      for (const socket of connections) socket.destroy()
    })
    return bound
  })
}

function serveHosts(world: World, counters: Counters): ServedHost[] {
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
  return served
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

/** Counts a connection, adds its latency, and passes it to the host's session or fault. */
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
  // Counted after the ends of earlier connections, which may be read after this one.
  setImmediate(() => (seen.mostOpen = Math.max(seen.mostOpen, seen.open)))
  socket.on('error', () => undefined)
  let isCounted = true
  const leave = (): void => {
    if (!isCounted) return
    isCounted = false
    seen.open--
    group.open--
  }
  socket.on('end', leave)
  socket.on('close', leave)
  const clientAddress = socket.remoteAddress ?? ''
  const wire: Duplex = rttMs > 0 ? withLatency(socket, rttMs) : socket
  wire.on('error', () => undefined)
  if (profile.fault !== undefined) {
    FAULTS[profile.fault]?.play({ wire, socket, host, secureContext })
    return
  }
  if (group.open > (profile.limits?.maxConnections ?? Infinity)) {
    refuseClient(wire, texts.tooManyConnections)
    return
  }
  if (profile.refusal?.phase === 'banner') {
    refuseClient(wire, texts.refusal)
    return
  }
  const startTls = (secured: (wire: Duplex) => void): void => {
    if (profile.brokenTls !== undefined) breakTls(wire, profile.brokenTls)
    else secure(wire, secureContext, host, secured)
  }
  const greet = (): void => {
    if (wire.destroyed) return
    if (wire.readableLength > 0) countViolation(counters.all, 'commands before the banner')
    wire.write(texts.banner, 'latin1')
    serveSession(wire, { host, clientAddress, startTls })
  }
  // On a real network, a client is connected one round trip after its request and gets the banner half
  // a round trip later.
  const bannerMs = (profile.bannerDelayMs ?? 0) + rttMs * 1.5
  if (bannerMs === 0) greet()
  else setTimeout(greet, bannerMs)
}

function refuseClient(wire: Duplex, reply: string): void {
  wire.end(reply, 'latin1')
  // While commands are unread, the close of the connection by the client would not be noticed.
  wire.resume()
}

function secure(
  wire: Duplex,
  secureContext: SecureContext,
  host: ServedHost,
  secured: (wire: Duplex) => void,
): void {
  // TLSSocket takes any duplex; its type names only net.Socket.
  const tls = new TLSSocket(wire, { isServer: true, secureContext })
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
