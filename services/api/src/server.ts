import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { Socket, type AddressInfo } from 'node:net'
import { limitConnections } from './connection-limit.ts'
import type { Context } from './context.ts'
import { hasOneHost, namesLoopback } from './host-header.ts'
import { closeIfEarly, LINGER, closeLingering, type LingerBounds } from './lingering-close.ts'
import { malformedOf, refuseOnResponse, refuseOnSocket } from './malformed-request.ts'
import { endSlowReaders, type SlowReaders } from './slow-readers.ts'

/** A server that listens. */
export interface Listening extends AsyncDisposable {
  readonly address: string
  readonly port: number
}

type Listener = (req: IncomingMessage, res: ServerResponse) => void

/** What of the context the server needs. */
type Surroundings = Pick<Context, 'log' | 'metrics' | 'stopping' | 'settings'>

/** Times of the HTTP server. A slow sender may hold a connection no longer than these. */
interface Times {
  readonly headersMs: number
  readonly keepAliveMs: number
  readonly checkEveryMs: number
  /** Without a byte in either direction, beyond what a call may take. */
  readonly idleMs: number
}

const TIMES: Times = {
  headersMs: 10_000,
  keepAliveMs: 5_000,
  checkEveryMs: 5_000,
  idleMs: 45_000,
}

/** How the server of calls is set up. */
export interface ListenOptions {
  readonly host: string
  readonly port: number
  readonly maxConnections: number
  /** Connections of one address at most. */
  readonly connectionsPerAddress: number
  /** Whether an address is that of a proxy, and exempt; none is by default. */
  readonly isProxy?: (address: string) => boolean
  /** How long a client may read too slowly. */
  readonly sendTimeoutMs: number
  /** What disposing of the server waits for calls that are under way. */
  readonly drainMs: number
  readonly times?: Partial<Times>
  readonly linger?: Partial<LingerBounds>
}

/**
 * Listens for calls. Bodies have their own bounds, of time for JSON and of rate for uploads, so the
 * server's bound over whole requests is off. Disposing of it lets calls under way end, up to `drainMs`.
 */
export async function listen(
  ctx: Surroundings,
  listener: Listener,
  options: ListenOptions,
): Promise<Listening> {
  const times = { ...TIMES, ...options.times }
  const server = createServer({
    headersTimeout: times.headersMs,
    requestTimeout: 0,
    keepAliveTimeout: times.keepAliveMs,
    connectionsCheckingInterval: times.checkEveryMs,
    insecureHTTPParser: false,
    // Looked at below, for an answer of our own.
    requireHostHeader: false,
  })
  const slowReaders = guardConnections(server, ctx, options)
  answerAll(server, ctx, listener, slowReaders, options.linger ?? {})
  server.setTimeout(ctx.settings.CALL_TIMEOUT_SECONDS * 1_000 + times.idleMs)
  server.maxConnections = options.maxConnections
  await bind(server, options.host, options.port)
  const { address, port } = addressOf(server)
  return {
    address,
    port,
    [Symbol.asyncDispose]: async () => {
      // Also while calls end: a client that does not read them must not use up the time.
      using _ = slowReaders
      await close(server, options.drainMs)
    },
  }
}

/** Keeps each address, and each client that does not read, from holding more than its share. */
function guardConnections(
  server: Server,
  { log, metrics }: Surroundings,
  options: ListenOptions,
): SlowReaders {
  const ended = metrics.counter(
    'connections_ended_total',
    'Connections that were ended: an address had too many, or a client read too slowly.',
    ['reason'],
  )
  const limit = limitConnections({
    most: options.connectionsPerAddress,
    isProxy: options.isProxy ?? (() => false),
    onFull: (address) => log.warn({ address }, 'an address has as many connections as it may'),
  })
  const slowReaders = endSlowReaders({
    timeoutMs: options.sendTimeoutMs,
    onSlow: () => ended.inc({ reason: 'slow_reader' }),
  })
  server.on('connection', (socket) => {
    if (limit.admit(socket)) {
      slowReaders.watch(socket)
      return
    }
    ended.inc({ reason: 'address_full' })
    socket.resetAndDestroy()
  })
  return slowReaders
}

/**
 * Answers whatever comes. Where that happens before the request has wholly come, the connection ends
 * with it, but gently: as many bytes as a list may have are still heard out, so that a client that
 * sends all before it reads gets its answer, too.
 */
function answerAll(
  server: Server,
  { log, stopping, settings }: Surroundings,
  listener: Listener,
  slowReaders: SlowReaders,
  bounds: Partial<LingerBounds>,
): void {
  const answering = new WeakMap<object, ServerResponse>()
  /** Connections whose end is decided. */
  const ending = new WeakSet<object>()
  const linger = (socket: Socket): void => {
    ending.add(socket)
    closeLingering(socket, { ...LINGER, bytes: settings.UPLOAD_LIMIT_BYTES, ...bounds })
  }
  const opened =
    (answer: Listener): Listener =>
    (req, res) => {
      answering.set(req.socket, res)
      slowReaders.expect(res)
      if (stopping.aborted) res.setHeader('Connection', 'close')
      closeIfEarly(req, res, linger)
      answer(req, res)
    }
  const judged = opened((req, res) => {
    if (hasOneHost(req)) listener(req, res)
    else refuseOnResponse(log, res, 400)
  })
  server.on('request', judged)
  // Asked before the body is sent, so that a refusal spares the client the sending.
  server.on('checkContinue', judged)
  server.on(
    'checkExpectation',
    opened((_req, res) => refuseOnResponse(log, res, 417)),
  )
  server.on('clientError', (error, socket) => {
    // The parser repeats itself with every byte that still comes.
    if (ending.has(socket)) return
    ending.add(socket)
    const status = malformedOf(error)
    if (status === undefined || !(socket instanceof Socket)) {
      socket.destroy()
      return
    }
    whenItsTurn(answering.get(socket), socket, () => {
      if (socket.writable) refuseOnSocket(log, socket, status)
      linger(socket)
    })
  })
}

/** When what is malformed may be refused, by the last answer that its connection was to bring. */
function whenItsTurn(last: ServerResponse | undefined, socket: Socket, refuse: () => void): void {
  if (last === undefined || last.writableFinished) refuse()
  // It came behind a good request, which is answered first.
  else if (last.req.complete) last.once('finish', refuse)
  else if (!last.headersSent) refuse()
  // It is the rest of a body that was answered early. Half an answer can only be cut; a whole one
  // ends the connection by itself.
  else if (!last.writableEnded) socket.destroy()
}

/** Listens on 127.0.0.1 for the operator, who calls it by a name of loopback; others get 421. */
export async function listenForAdmin(listener: Listener, port: number): Promise<Listening> {
  const server = createServer({ headersTimeout: TIMES.headersMs }, (req, res) => {
    if (namesLoopback(req)) listener(req, res)
    else res.writeHead(421, { 'Content-Type': 'text/plain; charset=utf-8' }).end(MISDIRECTED)
  })
  await bind(server, '127.0.0.1', port)
  const bound = addressOf(server)
  return { ...bound, [Symbol.asyncDispose]: () => close(server, 0) }
}

const MISDIRECTED = 'call this port by localhost, 127.0.0.1 or [::1]\n'

/** Connections that wait to be looked at; the system may allow fewer. Beyond, a client waits a second and more. */
const BACKLOG = 4_096

async function bind(server: Server, host: string, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ port, host, backlog: BACKLOG }, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

function addressOf(server: Server): { address: string; port: number } {
  const bound: AddressInfo | string | null = server.address()
  if (bound === null || typeof bound === 'string') throw new Error('the server has no TCP address')
  return { address: bound.address, port: bound.port }
}

async function close(server: Server, drainMs: number): Promise<void> {
  const { promise: closed, resolve } = Promise.withResolvers<void>()
  server.close(() => resolve())
  server.closeIdleConnections()
  const timer = setTimeout(() => server.closeAllConnections(), drainMs)
  await closed
  clearTimeout(timer)
}
