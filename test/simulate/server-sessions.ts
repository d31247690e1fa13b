import { connect, type Socket } from 'node:net'

/**
 * Sessions of Postgres that outlast the connections of simulated processes. To open one costs tens of
 * milliseconds of processor time on some machines, and a world opens hundreds.
 */
export interface ServerSessions extends Disposable {
  /** An idle session that began with the same message, or a new one, which has no greeting yet. */
  open(startup: Buffer): ServerSession
  /** Resets a session and keeps it; the caller makes sure that it executes nothing. */
  giveBack(session: ServerSession): void
}

/** A session of Postgres. */
export interface ServerSession {
  readonly socket: Socket
  /** The message that the session began with: role, database and settings. */
  readonly startup: Buffer
  /** What the server sent when it had accepted the client; empty until then. */
  greeting: Buffer
}

/** Messages of Postgres's protocol. Source: PostgreSQL manual, chapter 54.7. */
const ACCEPTED = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0])
const RESET = Buffer.from('Q\0\0\0\x10DISCARD ALL\0', 'latin1')
const READY = Buffer.from('Z\0\0\0\x05I', 'latin1')
const WAS_RESET = Buffer.concat([Buffer.from('C\0\0\0\x10DISCARD ALL\0', 'latin1'), READY])

/** Opens sessions of the server at an URL; all are closed in the end. */
export function openServerSessions(target: string): ServerSessions {
  const { port, hostname } = new URL(target)
  const all = new Set<Socket>()
  const idle: ServerSession[] = []

  function begin(startup: Buffer): ServerSession {
    const socket = connect(Number(port), hostname)
    all.add(socket)
    socket.setNoDelay(true)
    const session: ServerSession = { socket, startup, greeting: Buffer.alloc(0) }
    let said = Buffer.alloc(0)
    socket.on('data', function greet(piece: Buffer) {
      said = Buffer.concat([said, piece])
      if (!said.subarray(-READY.length).equals(READY)) return
      socket.off('data', greet)
      // The bytes before the client was accepted hold a challenge, which is of use only once.
      session.greeting = said.subarray(said.indexOf(ACCEPTED))
    })
    socket.write(startup)
    return session
  }

  return {
    open: (startup) => {
      const at = idle.findIndex(
        ({ socket, startup: begun }) => !socket.destroyed && begun.equals(startup),
      )
      return idle.splice(at, at === -1 ? 0 : 1)[0] ?? begin(startup)
    },
    giveBack: (session) => {
      const { socket } = session
      for (const event of ['data', 'close', 'error']) socket.removeAllListeners(event)
      socket.on('error', () => undefined)
      let replied = Buffer.alloc(0)
      socket.on('data', (piece) => {
        replied = Buffer.concat([replied, piece])
        if (replied.length < WAS_RESET.length) return
        socket.removeAllListeners('data')
        if (replied.equals(WAS_RESET)) idle.push(session)
        else socket.destroy()
      })
      socket.write(RESET)
    },
    [Symbol.dispose]: () => {
      for (const socket of all) socket.destroy()
    },
  }
}
