import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { hasOneHost } from '@plumbline/runtime/host-header'
import { bindServer, closeServer, type Listening } from '@plumbline/runtime/listen'
import { limitConnections } from './connection-limit.ts'
import type { Context } from './context.ts'
import { closeIfEarly, LINGER, closeLingering, type LingerBounds } from './lingering-close.ts'
import { malformedOf, refuseOnResponse, refuseOnSocket } from './malformed-request.ts'
import { endSlowReaders, type SlowReaders } from './slow-readers.ts'
import { limitUnsentResponses, type UnsentResponses } from './unsent-responses.ts'

type Listener = (req: IncomingMessage, res: ServerResponse) => void

/** The parts of the context that the server uses. */
type Surroundings = Pick<Context, 'log' | 'metrics' | 'stopping' | 'settings'>

/** Time-outs of the HTTP server, which bound how long a slow sender holds a connection. */
interface Times {
  readonly headersMs: number
  readonly keepAliveMs: number
  readonly checkEveryMs: number
  /** Milliseconds without a byte in either direction, beyond the time-out of a call. */
  readonly idleMs: number
}

const TIMES: Times = {
  headersMs: 10_000,
  keepAliveMs: 5_000,
  checkEveryMs: 5_000,
  idleMs: 45_000,
}

/** Options of the server of calls. */
export interface ListenOptions {
  readonly host: string
  readonly port: number
  readonly maxConnections: number
  /** Connections of one address at most. */
  readonly connectionsPerAddress: number
  /** Whether an address is that of a proxy, and exempt; none is by default. */
  readonly isProxy?: (address: string) => boolean
  /** Time over which a client may read too slowly, in milliseconds. */
  readonly sendTimeoutMs: number
  /** Milliseconds that disposing of the server waits for running calls. */
  readonly drainMs: number
  readonly times?: Partial<Times>
  readonly linger?: Partial<LingerBounds>
}

/**
 * Listens for calls. JSON bodies have a time-out and uploads a least rate, so the server's time-out
 * of whole requests is off. Disposing of the server waits for running calls, up to `drainMs`.
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
    // Checked below, for a response of our own.
    requireHostHeader: false,
  })
  const guards = guardConnections(server, ctx, options)
  answerAll(server, ctx, listener, guards, options.linger ?? {})
  server.setTimeout(ctx.settings.CALL_TIMEOUT_SECONDS * 1_000 + times.idleMs)
  server.maxConnections = options.maxConnections
  const bound = await bindServer(server, options.host, options.port, 'HOST and PORT')
  return {
    ...bound,
    [Symbol.asyncDispose]: async () => {
      // Also while calls end: a client that does not read them must not use up the time.
      using _ = guards.slowReaders
      await closeServer(server, options.drainMs)
    },
  }
}

/** Watches over the responses of connections. */
interface Guards {
  readonly slowReaders: SlowReaders
  readonly unsent: UnsentResponses
}

/**
 * Limits the connections of each address and the requests of each connection, and ends connections
 * of clients that read too slowly.
 */
function guardConnections(
  server: Server,
  { log, metrics }: Surroundings,
  options: ListenOptions,
): Guards {
  const ended = metrics.counter(
    'connections_ended_total',
    'Connections that were ended: an address had too many, one had too many requests, or a client read too slowly.',
    ['reason'],
  )
  const limit = limitConnections({
    most: options.connectionsPerAddress,
    isProxy: options.isProxy ?? (() => false),
    onFull: (address) => log.warn({ address }, 'an address has reached its connection limit'),
  })
  const unsent = limitUnsentResponses((socket) => {
    ended.inc({ reason: 'pipelined' })
    socket.resetAndDestroy()
  })
  const slowReaders = endSlowReaders({
    timeoutMs: options.sendTimeoutMs,
    unsentOf: unsent.of,
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
  return { slowReaders, unsent }
}

/**
 * Responds to every request, malformed ones too. If a response begins before its request was
 * received completely, the connection is closed after it, but as many bytes as an upload may have
 * are read and discarded first, so that a client that sends everything before it reads gets its
 * response.
 */
function answerAll(
  server: Server,
  { log, stopping, settings }: Surroundings,
  listener: Listener,
  { unsent }: Guards,
  bounds: Partial<LingerBounds>,
): void {
  /** Connections that are being closed. */
  const ending = new WeakSet<object>()
  const linger = (socket: Socket): void => {
    ending.add(socket)
    closeLingering(socket, { ...LINGER, bytes: settings.UPLOAD_LIMIT_BYTES, ...bounds })
  }
  const opened =
    (answer: Listener): Listener =>
    (req, res) => {
      if (!unsent.admit(res)) return
      if (stopping.aborted) res.setHeader('Connection', 'close')
      closeIfEarly(req, res, linger)
      answer(req, res)
    }
  const judged = opened((req, res) => {
    if (hasOneHost(req)) listener(req, res)
    else refuseOnResponse(log, res, 400)
  })
  server.on('request', judged)
  // `Expect: 100-continue`: a refusal comes before the client has sent the body.
  server.on('checkContinue', judged)
  server.on(
    'checkExpectation',
    opened((_req, res) => refuseOnResponse(log, res, 417)),
  )
  server.on('clientError', (error, socket) => {
    // The parser reports its error again with every byte that still comes.
    if (ending.has(socket)) return
    ending.add(socket)
    const status = malformedOf(error)
    if (status === undefined || !(socket instanceof Socket)) {
      socket.destroy()
      return
    }
    whenItsTurn(unsent.of(socket).at(-1), socket, () => {
      if (socket.writable) refuseOnSocket(log, socket, status)
      linger(socket)
    })
  })
}

/**
 * Calls `refuse` when the last response of the connection allows a malformed request to be refused.
 */
function whenItsTurn(last: ServerResponse | undefined, socket: Socket, refuse: () => void): void {
  if (last === undefined || last.writableFinished) refuse()
  // It came behind a well-formed request, whose response goes first.
  else if (last.req.complete) last.once('finish', refuse)
  else if (!last.headersSent) refuse()
  // It is the rest of a body whose response began early. Half a response can only be cut; a whole
  // one closes the connection by itself.
  else if (!last.writableEnded) socket.destroy()
}
