import { once } from 'node:events'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect as connectTls } from 'node:tls'

/** A client that sends one line at a time and waits for its reply, for tests of the servers. */
export interface SmtpClient extends Disposable {
  /** The banner. */
  readonly banner: string
  /** Sends lines in one write and returns as many replies; the lines of a reply are separated by LF. */
  say(...lines: string[]): Promise<string[]>
  /** Continues under TLS; any certificate is accepted. */
  startTls(): Promise<void>
  /** Resolves when the server has closed the connection. */
  readonly closed: Promise<unknown>
}

const PATIENCE_MS = 10_000

/** Connects and reads the banner; throws if there is none within ten seconds. */
export async function openSmtp(address: string, port: number): Promise<SmtpClient> {
  const socket = connect({ host: address, port, noDelay: true })
  socket.on('error', () => undefined)
  const closed = once(socket, 'close')
  let reader = createReader(socket)
  let wire: Duplex = socket
  const banner = await reader()
  return {
    banner,
    closed,
    say: async (...lines) => {
      wire.write(lines.map((line) => `${line}\r\n`).join(''))
      const replies: string[] = []
      for (const _ of lines) replies.push(await reader())
      return replies
    },
    startTls: async () => {
      socket.removeAllListeners('data')
      const secured = connectTls({ socket, rejectUnauthorized: false })
      await once(secured, 'secureConnect')
      reader = createReader(secured)
      wire = secured
    },
    [Symbol.dispose]: () => socket.destroy(),
  }
}

/** Reads complete replies in order. */
function createReader(wire: Duplex | Socket): () => Promise<string> {
  let text = ''
  let wake = (): void => undefined
  let ended = false
  wire.on('data', (chunk) => {
    text += String(chunk)
    wake()
  })
  wire.on('close', () => {
    ended = true
    wake()
  })
  return async () => {
    const deadline = AbortSignal.timeout(PATIENCE_MS)
    for (;;) {
      const whole = /^(?:[0-9]{3}-[^\n]*\n)*[0-9]{3}(?: [^\n]*)?\n/.exec(text)
      if (whole !== null) {
        text = text.slice(whole[0].length)
        return whole[0].replaceAll('\r', '').trimEnd()
      }
      if (ended || deadline.aborted)
        throw new Error(`no reply: ${JSON.stringify(text.slice(0, 200))}`)
      await new Promise<void>((next) => {
        wake = next
        deadline.addEventListener('abort', () => next(), { once: true })
      })
    }
  }
}
