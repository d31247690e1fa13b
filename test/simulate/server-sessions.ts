import { connect, type Socket } from 'node:net'

/**
 * Sessions of Postgres that outlast the connections of simulated processes. To open one costs tens of
 * milliseconds of processor time on some machines, and a world opens hundreds.
 */
export interface ServerSessions extends Disposable {
  /**
   * A kept session that began with the same message, or a new one: it has no greeting yet, and the
   * caller sends the message.
   */
  open(startup: Buffer): ServerSession
  /** Closes all sessions. */
  close(): void
}

/** A session of Postgres. */
export interface ServerSession {
  readonly socket: Socket
  /** The message that the session began with: role, database and settings. */
  readonly startup: Buffer
  /** What the server sent when it had accepted the client; empty until then. */
  greeting: Buffer
  /** Resets the session and keeps it; the caller makes sure that it executes nothing. */
  giveBack(): void
}

/** Messages of Postgres's protocol. Source: PostgreSQL manual, chapter 54.7. */
const ACCEPTED = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0])
const RESET = Buffer.from('Q\0\0\0\x10DISCARD ALL\0', 'latin1')
const READY_IDLE = Buffer.from('Z\0\0\0\x05I', 'latin1')
const WAS_RESET = Buffer.concat([Buffer.from('C\0\0\0\x10DISCARD ALL\0', 'latin1'), READY_IDLE])

/** Opens sessions of the server at an URL; all are closed in the end. */
export function openServerSessions(target: string): ServerSessions {
  const { port, hostname } = new URL(target)
  const all = new Set<Socket>()
  const idle: ServerSession[] = []

  function begin(startup: Buffer): ServerSession {
    const socket = connect(Number(port), hostname)
    all.add(socket)
    socket.setNoDelay(true)
    const session: ServerSession = {
      socket,
      startup,
      greeting: Buffer.alloc(0),
      giveBack: () => reset(session),
    }
    let said = Buffer.alloc(0)
    socket.on('data', function greet(piece: Buffer) {
      said = Buffer.concat([said, piece])
      if (!said.subarray(-READY_IDLE.length).equals(READY_IDLE)) return
      socket.off('data', greet)
      // The bytes before the client was accepted hold a challenge, which is of use only once.
      session.greeting = said.subarray(said.indexOf(ACCEPTED))
    })
    return session
  }

  function reset(session: ServerSession): void {
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
  }

  const close = (): void => {
    for (const socket of all) socket.destroy()
    all.clear()
    idle.splice(0)
  }
  return {
    close,
    open: (startup) => {
      const isFit = ({ socket, startup: begun }: ServerSession): boolean =>
        !socket.destroyed && begun.equals(startup)
      const kept = idle.find(isFit)
      if (kept === undefined) return begin(startup)
      idle.splice(idle.indexOf(kept), 1)
      return kept
    },
    [Symbol.dispose]: close,
  }
}
