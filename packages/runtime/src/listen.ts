import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A server that listens; disposing of it closes it. */
export interface Listening extends AsyncDisposable {
  readonly address: string
  readonly port: number
}

/**
 * Length of the accept queue; the system may allow fewer. Beyond it a client waits a second or
 * more.
 */
const BACKLOG = 4_096

/**
 * Binds a server; port 0 takes a free one.
 *
 * @param settings names of those that chose host and port, for the message of a fault
 * @returns its address and port
 * @throws if the address is not local or the port is taken
 */
export async function bindServer(
  server: Server,
  host: string,
  port: number,
  settings: string,
): Promise<Omit<Listening, keyof AsyncDisposable>> {
  await new Promise<void>((resolve, reject) => {
    const fail = (cause: Error): void => {
      reject(new Error(`the address of ${settings} cannot be listened on`, { cause }))
    }
    server.once('error', fail)
    server.listen({ port, host, backlog: BACKLOG }, () => {
      server.off('error', fail)
      resolve()
    })
  })
  const bound: AddressInfo | string | null = server.address()
  if (bound === null || typeof bound === 'string') throw new Error('the server has no TCP address')
  return { address: bound.address, port: bound.port }
}

/** Stops accepting connections, and closes those that are still busy after `drainMs`. */
export async function closeServer(server: Server, drainMs: number): Promise<void> {
  const { promise: closed, resolve } = Promise.withResolvers<void>()
  server.close(() => resolve())
  server.closeIdleConnections()
  const timer = setTimeout(() => server.closeAllConnections(), drainMs)
  await closed
  clearTimeout(timer)
}
