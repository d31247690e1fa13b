import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { expect } from 'vitest'

// A mail server on loopback that accepts every message, with the necessary part of RFC 5321.

/** A received message. */
export interface ReceivedMail {
  readonly to: string
  readonly subject: string
  /** The decoded text. */
  readonly text: string
}

/** Receives messages until it is disposed. */
export interface MailSink extends AsyncDisposable {
  /** `smtp://127.0.0.1:port`. */
  readonly url: string
  readonly mails: readonly ReceivedMail[]
  /** Waits for a message to an address whose subject contains a text. */
  wait(to: string, subject: string): Promise<ReceivedMail>
}

/** Listens on a free port. */
export async function startMailSink(): Promise<MailSink> {
  const mails: ReceivedMail[] = []
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    socket.on('error', () => socket.destroy())
    void receive(socket, mails)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  // Safe because it listens on TCP.
  const { port } = server.address() as AddressInfo
  return {
    url: `smtp://127.0.0.1:${port}`,
    mails,
    wait: async (to, subject) => {
      const find = (): ReceivedMail | undefined =>
        mails.find((mail) => mail.to === to && mail.subject.includes(subject))
      await expect.poll(find).toBeDefined()
      const found = find()
      if (found === undefined) throw new Error('no such message')
      return found
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

async function receive(socket: Socket, mails: ReceivedMail[]): Promise<void> {
  const say = (line: string): unknown => socket.write(`${line}\r\n`)
  say('220 sink.test ESMTP')
  let to = ''
  let data: string[] | null = null
  for await (const line of createInterface({ input: socket, crlfDelay: Infinity })) {
    if (data !== null) {
      if (line === '.') {
        mails.push(readMail(to, data))
        data = null
        say('250 taken')
      } else data.push(line.replace(/^\./, ''))
      continue
    }
    const verb = line.slice(0, 4).toUpperCase()
    if (verb === 'RCPT') to = /<([^>]*)>/.exec(line)?.[1] ?? ''
    if (verb === 'DATA') {
      data = []
      say('354 go on')
    } else if (verb === 'EHLO') say('250-sink.test\r\n250 8BITMIME')
    else if (verb === 'QUIT') {
      say('221 bye')
      socket.end()
    } else say('250 ok')
  }
}

function readMail(to: string, lines: readonly string[]): ReceivedMail {
  const whole = lines.join('\n')
  const subject = /^Subject: (.*)$/m.exec(whole)?.[1] ?? ''
  const part = /Content-Type: text\/plain[^]*?\n\n([^]*?)(?:\n--|$)/.exec(whole)?.[1] ?? ''
  const isQuoted = /Content-Transfer-Encoding: quoted-printable/i.test(whole)
  return { to, subject, text: isQuoted ? unquoted(part) : part }
}

/** Source: RFC 2045 6.7. */
function unquoted(text: string): string {
  return text
    .replaceAll(/=\n/g, '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCodePoint(Number(`0x${hex}`)))
}
