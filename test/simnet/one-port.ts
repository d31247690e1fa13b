import { once } from 'node:events'
import type { Server } from 'node:net'

/** Listeners at many addresses that share one port number. */
export interface Listeners extends AsyncDisposable {
  readonly port: number
}

const TRIES = 20

/**
 * Starts listeners at many addresses on one port; 0 for any that is free at all of them. `start`
 * binds the first at the port that it is given and gives back the one that it got; what it opens,
 * it puts on the stack. A port that is free at one address may be taken at another: then all are
 * closed and another is tried.
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

/** Binds a TCP server and gives the port that it got; it is closed with the stack. */
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
