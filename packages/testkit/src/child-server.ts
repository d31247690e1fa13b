import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'

/** A third-party server that a test started. */
export interface ChildServer {
  /** Sends the stop signal, and waits until the server has ended. */
  stop(): Promise<void>
}

/** User and group `nobody` of Debian, for servers that refuse to run as root. */
const NOBODY = { uid: 65_534, gid: 65_534 }

/** Options of `spawn` that change from root to an unprivileged user; empty if not root. */
export function withoutRoot(): Partial<typeof NOBODY> {
  return process.getuid?.() === 0 ? NOBODY : {}
}

/**
 * Starts a server as an unprivileged user, and waits for the output that says that it accepts
 * connections.
 *
 * @throws with its output if it ends before
 */
export async function startChildServer(
  binary: string,
  args: readonly string[],
  { ready, signal }: { readonly ready: string; readonly signal: NodeJS.Signals },
): Promise<ChildServer> {
  const server = spawn(binary, args, { stdio: ['ignore', 'pipe', 'pipe'], ...withoutRoot() })
  const exited = once(server, 'exit')
  const leave = (): void => void server.kill(signal)
  process.once('exit', leave)
  let said = ''
  const started = new Promise<'ready'>((resolve) => {
    for (const stream of [server.stdout, server.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        said = `${said}${text}`.slice(-MOST_SAID)
        if (said.includes(ready)) resolve('ready')
      })
    }
  })
  if ((await Promise.race([started, exited])) !== 'ready') {
    process.off('exit', leave)
    throw new Error(`${binary} ended while starting:\n${said}`)
  }
  return {
    async stop() {
      process.off('exit', leave)
      leave()
      await exited
    },
  }
}

/** Characters of a server's output that are kept. */
const MOST_SAID = 8_000

/** A free port on loopback. */
export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const address = probe.address()
  probe.close()
  await once(probe, 'close')
  if (address === null || typeof address === 'string') throw new Error('no port was given')
  return address.port
}
