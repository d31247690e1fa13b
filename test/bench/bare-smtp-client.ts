import { connect } from 'node:net'

/** A session of the bare client: the address of a mail host, and the mailboxes to probe. */
export interface BareSession {
  readonly address: string
  readonly recipients: readonly string[]
}

/**
 * Probes with the minimum of work: hosts are given, a session has one pipelined transaction, and
 * replies are only counted. Returns the milliseconds until all sessions have ended.
 */
export async function runBareClient(
  work: readonly BareSession[],
  port: number,
  connections: number,
): Promise<number> {
  let next = 0
  const one = async (): Promise<void> => {
    for (let at = next++; at < work.length; at = next++) {
      const each = work[at]
      if (each !== undefined) await session(each, port)
    }
  }
  const beganMs = performance.now()
  await Promise.all(Array.from({ length: connections }, one))
  return performance.now() - beganMs
}

function session({ address, recipients }: BareSession, port: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const socket = connect(port, address)
  let asked = false
  let awaited = 1
  let greeted = false
  const goOn = (): void => {
    if (!greeted) {
      greeted = true
      awaited = 1
      socket.write('EHLO verifier.simnet.example\r\n')
      return
    }
    if (asked) {
      socket.end('QUIT\r\n')
      resolve()
      return
    }
    asked = true
    awaited = recipients.length + 2
    const lines = recipients.map((recipient) => `RCPT TO:<${recipient}>\r\n`).join('')
    socket.write(`MAIL FROM:<verify@verifier.simnet.example>\r\n${lines}RSET\r\n`)
  }
  let lineStart = true
  let digits = 0
  socket.on('data', (chunk) => {
    for (const byte of chunk) {
      if (lineStart) {
        digits = 0
        lineStart = false
      }
      // The fourth byte of a line tells whether it is the last of its reply.
      if (digits++ === 3 && byte === 0x20) awaited--
      if (byte === 0x0a) lineStart = true
    }
    if (awaited === 0 && lineStart) goOn()
  })
  socket.on('error', reject)
  return promise
}
