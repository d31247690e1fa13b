import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { Socket, type AddressInfo } from 'node:net'
import type { Context } from './context.ts'
import { malformedOf, refuseOnResponse, refuseOnSocket } from './malformed.ts'

/** A server that listens. */
export interface Listening extends AsyncDisposable {
  readonly address: string
  readonly port: number
}

type Listener = (req: IncomingMessage, res: ServerResponse) => void

/** Times of the HTTP server. A slow sender may hold a connection no longer than these. */
const TIMES = {
  headersMs: 10_000,
  keepAliveMs: 5_000,
  checkEveryMs: 5_000,
  /** Without a byte in either direction, beyond what a call may take. */
  idleMs: 45_000,
  /** What a client that was answered early may still send before it is cut. */
  lingerMs: 2_000,
} as const

/**
 * Listens for calls. Bodies have their own bounds, of time for JSON and of rate for uploads, so the
 * server's bound over whole requests is off. Disposing of it lets calls under way end, up to `drainMs`.
 */
export async function listen(
  ctx: Context,
  listener: Listener,
  options: { host: string; port: number; maxConnections: number; drainMs: number },
): Promise<Listening> {
  const answering = new WeakMap<object, ServerResponse>()
  const answered: Listener = (req, res) => {
    answering.set(req.socket, res)
    if (ctx.stopping.aborted) res.setHeader('Connection', 'close')
    res.once('finish', () => cutLateSender(req))
    if (req.headers.host === undefined && req.httpVersion === '1.1') {
      refuseOnResponse(ctx.log, res, 400)
    } else {
      listener(req, res)
    }
  }
  const server = createServer(
    {
      headersTimeout: TIMES.headersMs,
      requestTimeout: 0,
      keepAliveTimeout: TIMES.keepAliveMs,
      connectionsCheckingInterval: TIMES.checkEveryMs,
      insecureHTTPParser: false,
      // Looked at above, for an answer of our own.
      requireHostHeader: false,
    },
    answered,
  )
  // Asked before the body is sent, so that a refusal spares the client the sending.
  server.on('checkContinue', answered)
  server.on('checkExpectation', (_req, res) => refuseOnResponse(ctx.log, res, 417))
  server.on('clientError', (error, socket) => {
    const status = malformedOf(error)
    const res = answering.get(socket)
    const begun = res !== undefined && res.headersSent && !res.writableFinished
    if (status === undefined || begun || !(socket instanceof Socket) || !socket.writable) {
      socket.destroy()
      return
    }
    refuseOnSocket(ctx.log, socket, status)
    setTimeout(() => socket.destroy(), TIMES.lingerMs).unref()
  })
  server.setTimeout(ctx.settings.CALL_TIMEOUT_SECONDS * 1_000 + TIMES.idleMs)
  server.maxConnections = options.maxConnections
  await bind(server, options.host, options.port)
  const { address, port } = addressOf(server)
  return { address, port, [Symbol.asyncDispose]: () => close(server, options.drainMs) }
}

/** Listens on 127.0.0.1 for the operator. */
export async function listenForAdmin(listener: Listener, port: number): Promise<Listening> {
  const server = createServer({ headersTimeout: TIMES.headersMs }, listener)
  await bind(server, '127.0.0.1', port)
  const bound = addressOf(server)
  return { ...bound, [Symbol.asyncDispose]: () => close(server, 0) }
}

/** Node reads on what an answered client still sends; for a large upload that is cut after a moment. */
function cutLateSender(req: IncomingMessage): void {
  if (req.complete || req.destroyed) return
  const timer = setTimeout(() => {
    if (!req.complete) req.socket.destroy()
  }, TIMES.lingerMs)
  timer.unref()
}

async function bind(server: Server, host: string, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
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
