import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { TLSSocket } from 'node:tls'
import type { SecureContext } from 'node:tls'
import type { ServedHost } from './served.ts'

/** A connection to a faulty server. */
export interface FaultContext {
  readonly wire: Duplex
  readonly socket: Socket
  readonly host: ServedHost
  readonly secureContext: SecureContext
}

/** A faulty behaviour, which may last until the client closes the connection. */
export interface Fault {
  readonly play: (context: FaultContext) => void
}

const BANNER = '220 hostile ESMTP\r\n'
const DRIP_MS = 250
const TARPIT_MS = 30_000
const BLOCK = Buffer.alloc(64 * 1024, 0x78)

/** The replies of a correct server up to the faulty phase. */
const HONEST: Readonly<Record<string, string>> = {
  EHLO: '250-hostile\r\n250-PIPELINING\r\n250 8BITMIME\r\n',
  HELO: '250 hostile\r\n',
  MAIL: '250 2.1.0 Ok\r\n',
  RCPT: '250 2.1.5 Ok\r\n',
  RSET: '250 2.0.0 Ok\r\n',
  NOOP: '250 2.0.0 Ok\r\n',
  QUIT: '221 2.0.0 Bye\r\n',
}

/** Faults by name; the domain `smtp-<name>.example` has a mail host with that fault. */
export const FAULTS: Readonly<Record<string, Fault>> = {
  // Before the banner.
  'no-banner': fault(({ wire }) => void wire.resume()),
  'close-at-once': fault(({ socket }) => void socket.destroy()),
  'reset-at-once': fault(({ socket }) => void socket.resetAndDestroy()),
  'dripping-banner': fault(({ wire }) => drip(wire, `220 ${'d'.repeat(4000)}\r\n`)),
  'endless-banner': fault(({ wire }) => flood(wire, '220 ', () => BLOCK)),
  'endless-banner-lines': fault(({ wire }) =>
    flood(wire, '', () => Buffer.from('220-and there is more\r\n'.repeat(500))),
  ),
  'banner-without-code': says('hello there, this is a mail server\r\n'),
  'banner-bare-lf': says('220 hostile ESMTP\n'),
  'banner-of-http': says('HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n'),
  'banner-of-ssh': says('SSH-2.0-OpenSSH_9.6\r\n'),
  'banner-nul': says('220 hos\0tile\0 ESMTP\r\n'),
  'banner-binary': says(Buffer.from([0xff, 0xfe, 0x80, 0x00, 0x0d, 0x0a])),
  'banner-421': says('421 4.3.2 Service not available, closing\r\n', true),
  'banner-half': says('22', true),
  'banner-twice': fault(({ wire }) => {
    wire.write(BANNER)
    serveCommands(wire, {}, BANNER)
  }),
  'all-replies-early': fault(({ wire }) => {
    wire.write(`${BANNER}${HONEST['EHLO'] ?? ''}250 ok\r\n250 ok\r\n250 ok\r\n221 bye\r\n`)
    wire.resume()
  }),
  'one-gigabyte': fault(({ wire }) => flood(wire, '220-', () => BLOCK, 1024 ** 3)),
  // At EHLO.
  'close-at-ehlo': answers({ EHLO: close }),
  'silent-at-ehlo': answers({ EHLO: silence }),
  'ehlo-endless': answers({
    EHLO: (wire) => flood(wire, '', () => Buffer.from('250-X-MORE\r\n'.repeat(1000))),
  }),
  'ehlo-many-lines': answers({ EHLO: text(`${'250-X-LINE\r\n'.repeat(10_000)}250 END\r\n`) }),
  'ehlo-long-line': answers({ EHLO: text(`250 ${'x'.repeat(1_000_000)}\r\n`) }),
  'ehlo-mixed-codes': answers({ EHLO: text('250-hostile\r\n550 no\r\n') }),
  'ehlo-half-line': answers({ EHLO: (wire) => void wire.end('250-host') }),
  'ehlo-drips': answers({ EHLO: (wire) => drip(wire, `250-${'slow'.repeat(1000)}\r\n`) }),
  'ehlo-5xx-helo-too': answers({ EHLO: text('550 5.3.0 no\r\n'), HELO: text('550 5.3.0 no\r\n') }),
  'ehlo-3xx': answers({ EHLO: text('354 go ahead\r\n'), HELO: text('354 go ahead\r\n') }),
  // At MAIL FROM.
  'close-at-mail': answers({ MAIL: close }),
  'silent-at-mail': answers({ MAIL: silence }),
  'mail-5xx-then-close': answers({ MAIL: (wire) => void wire.end('550 5.7.1 go away\r\n') }),
  'mail-code-999': answers({ MAIL: text('999 what\r\n') }),
  // At RCPT TO.
  'close-at-rcpt': answers({ RCPT: close }),
  'reset-at-rcpt': answers({ RCPT: (_wire, socket) => void socket.resetAndDestroy() }),
  'silent-at-rcpt': answers({ RCPT: silence }),
  'rcpt-half-line': answers({ RCPT: (wire) => void wire.end('550 5.1.') }),
  'rcpt-no-code': answers({ RCPT: text('unknown user\r\n') }),
  'rcpt-code-000': answers({ RCPT: text('000 user unknown\r\n') }),
  'rcpt-code-2': answers({ RCPT: text('25 ok\r\n') }),
  'rcpt-nul': answers({ RCPT: text('25\x000 2.1.5 Ok\r\n') }),
  'rcpt-endless': answers({
    RCPT: (wire) => flood(wire, '', () => Buffer.from('550-5.1.1 no\r\n'.repeat(1000))),
  }),
  'rcpt-drips': answers({
    RCPT: (wire) => drip(wire, `550-${'5.1.1 User unknown '.repeat(300)}\r\n`),
  }),
  'rcpt-421': answers({
    RCPT: (wire) => void wire.end('421 4.4.2 Connection dropped due to an error\r\n'),
  }),
  'rcpt-252': answers({ RCPT: text('252 2.5.0 Cannot verify, will try\r\n') }),
  'rcpt-bare-cr': answers({ RCPT: text('250 2.1.5 Ok\r') }),
  'rcpt-354': answers({ RCPT: text('354 Start mail input\r\n') }),
  'rcpt-mixed-codes': answers({ RCPT: text('250-ok\r\n550 5.1.1 User unknown\r\n') }),
  // At every command.
  tarpit: answers(
    Object.fromEntries(
      Object.entries(HONEST).map(([verb, reply]): [string, Step] => [
        verb,
        (wire) => void setTimeout(() => wire.writable && wire.write(reply), TARPIT_MS),
      ]),
    ),
  ),
  'split-replies': answers(
    Object.fromEntries(
      Object.entries(HONEST).map(([verb, reply]): [string, Step] => [
        verb,
        (wire) => writeSplit(wire, reply),
      ]),
    ),
  ),
  // Under STARTTLS.
  'tls-stalls': tls((wire) => void wire.resume()),
  'tls-endless-garbage': tls((wire) => flood(wire, '', () => BLOCK)),
  'tls-injected-plaintext': fault((context) => {
    context.wire.write(BANNER)
    serveCommands(
      context.wire,
      {
        EHLO: text('250-hostile\r\n250 STARTTLS\r\n'),
        STAR: (wire, socket) => {
          // A client that keeps input from before the handshake would take these for replies under
          // TLS.
          wire.write('220 ready\r\n250 injected\r\n250 injected\r\n250 injected\r\n')
          secureAndServe(wire, socket, context)
        },
      },
      undefined,
      context.socket,
    )
  }),
  'tls-then-close': tls((wire, socket, context) => {
    secureAndServe(wire, socket, context, (secured) => secured.destroy())
  }),
}

type Step = (wire: Duplex, socket: Socket) => void

function fault(play: (context: FaultContext) => void): Fault {
  return { play }
}

function says(banner: string | Buffer, closes = false): Fault {
  return fault(({ wire }) => {
    if (closes) wire.end(banner)
    else wire.write(banner)
    wire.resume()
  })
}

function answers(steps: Readonly<Record<string, Step>>): Fault {
  return fault(({ wire, socket }) => {
    wire.write(BANNER)
    serveCommands(wire, steps, undefined, socket)
  })
}

function tls(handshake: (wire: Duplex, socket: Socket, context: FaultContext) => void): Fault {
  return fault((context) => {
    context.wire.write(BANNER)
    serveCommands(
      context.wire,
      {
        EHLO: text('250-hostile\r\n250 STARTTLS\r\n'),
        STAR: (wire, socket) => {
          wire.write('220 ready\r\n')
          handshake(wire, socket, context)
        },
      },
      undefined,
      context.socket,
    )
  })
}

function text(reply: string): Step {
  return (wire) => void wire.write(reply)
}

function close(wire: Duplex): void {
  wire.destroy()
}

/** A step that stops replying. */
function silence(wire: Duplex): void {
  discardInput(wire)
}

/** Discards everything that the client sends from now on. */
function discardInput(wire: Duplex): void {
  wire.removeAllListeners('data')
  wire.resume()
}

/**
 * Replies to each command, correctly except for those with a step of their own. A step for STARTTLS
 * takes over the connection.
 */
function serveCommands(
  wire: Duplex,
  steps: Readonly<Record<string, Step>>,
  always?: string,
  socket?: Socket,
): void {
  let pending = ''
  const onData = (chunk: Buffer): void => {
    pending = (pending + chunk.toString('latin1')).slice(-8192)
    for (let end = pending.indexOf('\n'); end >= 0; end = pending.indexOf('\n')) {
      if (!wire.listeners('data').includes(onData)) return
      const verb = pending.slice(0, 4).toUpperCase()
      pending = pending.slice(end + 1)
      const step = steps[verb]
      if (verb === 'STAR' && step !== undefined) wire.removeListener('data', onData)
      if (step !== undefined) step(wire, socket ?? (wire as Socket))
      else wire.write(always ?? HONEST[verb] ?? '500 what\r\n')
      if (verb === 'QUIT') wire.end()
      if (wire.destroyed || wire.writableEnded) return
    }
  }
  wire.on('data', onData)
  wire.on('end', () => wire.end())
}

/** Sends each byte in a packet of its own, at full speed. */
function writeSplit(wire: Duplex, reply: string): void {
  for (const byte of reply) wire.write(byte)
}

/** Sends one byte at a time, as long as the client listens. */
function drip(wire: Duplex, reply: string): void {
  let at = 0
  const timer = setInterval(() => {
    if (wire.destroyed || at >= reply.length) clearInterval(timer)
    else wire.write(reply.charAt(at++))
  }, DRIP_MS)
  wire.on('close', () => clearInterval(timer))
  discardInput(wire)
}

/** Sends as much as the client reads, without end or up to a number of bytes. */
function flood(wire: Duplex, opening: string, block: () => Buffer, limitBytes = Infinity): void {
  const bytes = block()
  let sent = 0
  const pour = (): void => {
    while (!wire.destroyed && sent < limitBytes) {
      sent += bytes.length
      if (!wire.write(bytes)) {
        wire.once('drain', pour)
        return
      }
    }
  }
  discardInput(wire)
  wire.write(opening)
  pour()
}

function secureAndServe(
  wire: Duplex,
  socket: Socket,
  context: FaultContext,
  then: (secured: Duplex) => void = (secured) => serveCommands(secured, {}, undefined, socket),
): void {
  // TLSSocket takes any duplex; its type names only net.Socket.
  const secured = new TLSSocket(wire, {
    isServer: true,
    secureContext: context.secureContext,
  })
  secured.on('error', () => wire.destroy())
  secured.on('secure', () => then(secured))
}
