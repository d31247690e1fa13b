import { once } from 'node:events'
import type { Server } from 'node:net'

/** Listeners at many addresses that share one port number. */
export interface Listeners extends AsyncDisposable {
  readonly port: number
}

const TRIES = 20

/**
 * Starts listeners at many addresses on one port; 0 for any port that is free at all of them. `start`
 * binds an address and returns its port; what it opens, it adds to the stack. If the port is in use at
 * another address, all listeners are closed and another port is tried.
 */
export async function onOnePort(
  port: number,
  start: (port: number, opened: AsyncDisposableStack) => Promise<number>,
): Promise<Listeners> {
  for (let tries = 1; ; tries++) {
    const opened = new AsyncDisposableStack()
    try {
      const bound = await start(port, opened)
      return { port: bound, [Symbol.asyncDispose]: () => opened.disposeAsync() }
    } catch (error) {
      await opened.disposeAsync()
      if (port !== 0 || tries === TRIES) throw error
    }
  }
}

/** Binds a TCP server and returns its port; the server is closed with the stack. */
export async function listenAt(
  server: Server,
  address: string,
  port: number,
  opened: AsyncDisposableStack,
): Promise<number> {
  server.listen({ port, host: address, backlog: 1024 })
  await once(server, 'listening')
  opened.defer(() => new Promise<void>((done) => server.close(() => done())))
  const bound = server.address()
  return typeof bound === 'object' && bound !== null ? bound.port : port
}
