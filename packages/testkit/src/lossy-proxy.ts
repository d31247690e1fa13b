import { connect, createServer, type Socket } from 'node:net'

/** A proxy of a database server that can drop replies, as a broken network does after a commit. */
export interface LossyProxy extends AsyncDisposable {
  /** URL of the database through the proxy. */
  readonly url: string
  /**
   * Closes the connection when the server replies to the next statement whose text or name contains
   * `word`; the statement itself takes effect. For `stallMs` after that no data pass in any
   * connection.
   */
  loseNextReply(word: string, stallMs?: number): void
  /**
   * As `loseNextReply`, but all connections are closed then, and new ones refused for `awayMs`, as by
   * a server that dies after a commit.
   */
  dieAtNextReply(word: string, awayMs: number): void
  /**
   * Drops all data of the connection that sends the next statement whose text, name or values
   * contain `word`, from this statement on and in both directions, without resetting or closing it.
   */
  loseConnection(word: string | Buffer): void
  lostCount(): number
  /**
   * Drops all data of the current connections, in both directions, without resetting or closing them.
   */
  loseAll(): void
}

/** Opens a proxy on 127.0.0.1 in front of the server of a database URL. */
export async function openLossyProxy(target: string): Promise<LossyProxy> {
  const upstream = new URL(target)
  const sockets = new Set<Socket>()
  let deaf: ReadonlySet<Socket> = new Set()
  let word: string | undefined
  let deafAt: string | Buffer | undefined
  let stallAfterMs = 0
  let isStalled = false
  let awayAfterMs = 0
  let isAway = false
  let lost = 0

  function stall(ms: number): void {
    isStalled = true
    for (const socket of sockets) socket.pause()
    setTimeout(() => {
      isStalled = false
      for (const socket of sockets) socket.resume()
    }, ms)
  }

  function die(ms: number): void {
    isAway = true
    for (const socket of sockets) socket.destroy()
    setTimeout(() => {
      isAway = false
    }, ms)
  }

  const server = createServer({ allowHalfOpen: true }, (client) => {
    if (isAway) {
      client.destroy()
      return
    }
    const behind = connect(Number(upstream.port), upstream.hostname)
    let losing = false
    for (const socket of [client, behind]) {
      sockets.add(socket)
      socket.setNoDelay(true)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        sockets.delete(socket)
        client.destroy()
        behind.destroy()
      })
    }
    client.on('end', () => {
      if (!deaf.has(client)) client.end()
    })
    client.on('data', (piece: Buffer) => {
      if (deafAt !== undefined && piece.includes(deafAt)) {
        deafAt = undefined
        deaf = new Set([...deaf, client])
      }
      if (deaf.has(client)) return
      if (word !== undefined && names(piece, word)) {
        word = undefined
        losing = true
      }
      behind.write(piece)
    })
    behind.on('data', (piece: Buffer) => {
      if (deaf.has(client)) return
      if (!losing) {
        client.write(piece)
      } else if (piece.includes(READY)) {
        lost += 1
        client.destroy()
        if (stallAfterMs > 0) stall(stallAfterMs)
        if (awayAfterMs > 0) die(awayAfterMs)
      }
    })
    // After the listeners, which make a socket flow.
    if (isStalled) for (const socket of [client, behind]) socket.pause()
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port')
  const url = new URL(target)
  url.port = String(address.port)
  return {
    url: url.href,
    loseNextReply: (next, stallMs = 0) => {
      word = next
      stallAfterMs = stallMs
      awayAfterMs = 0
    },
    dieAtNextReply: (next, awayMs) => {
      word = next
      stallAfterMs = 0
      awayAfterMs = awayMs
    },
    loseConnection: (next) => {
      deafAt = next
    },
    lostCount: () => lost,
    loseAll: () => {
      deaf = new Set(sockets)
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((closed) => server.close(closed))
    },
  }
}

/** ReadyForQuery outside of a transaction: the statement before it is committed. */
const READY = Buffer.from([0x5a, 0, 0, 0, 5, 0x49])

/** Whether a message contains a word of a statement or, of a prepared one, its name. */
function names(piece: Buffer, word: string): boolean {
  return piece.includes(word) || piece.includes(word.replace('credit_', 'metering.'))
}
