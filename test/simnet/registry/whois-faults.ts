import type { Socket } from 'node:net'

type Play = (socket: Socket, query: string) => void

const BLOCK = Buffer.alloc(64 * 1024, 0x2e)

/** Faults of WHOIS servers, by name; the zone `whois-<name>` has a server with that fault. */
export const WHOIS_FAULTS: Readonly<Record<string, Play>> = {
  empty: (socket) => void socket.end(),
  silent: () => undefined,
  resets: (socket) => void socket.resetAndDestroy(),
  endless: (socket) => pour(socket),
  drips: (socket) => {
    const timer = setInterval(() => socket.write('.'), 250)
    socket.on('close', () => clearInterval(timer))
  },
  'garbage-bytes': (socket) =>
    void socket.end(Buffer.from(Array.from({ length: 4096 }, (_, i) => (i * 167 + 13) & 0xff))),
  'nul-bytes': (socket) => void socket.end(Buffer.alloc(4096)),
  'refers-to-itself': (socket, query) => {
    socket.end(`Domain Name: ${query}\r\nRegistrar WHOIS Server: whois.whois-refers-to-itself\r\n`)
  },
  'refers-to-metadata': (socket, query) => {
    socket.end(
      `Domain Name: ${query}\r\nRegistrar WHOIS Server: 169.254.169.254\r\nrefer: 169.254.169.254\r\n`,
    )
  },
  'refers-to-private': (socket, query) => {
    socket.end(`Domain Name: ${query}\r\nRegistrar WHOIS Server: mx-private.simdns.net\r\n`)
  },
  'throttled-by-text': (socket) =>
    void socket.end('Your connection limit exceeded. Please slow down and try again later.\r\n'),
  'denied-by-text': (socket) =>
    void socket.end('% Access denied for your address. Contact the registry.\r\n'),
  'broken-dates': (socket, query) => {
    socket.end(
      `Domain Name: ${query}\r\nCreation Date: 99/99/9999\r\nRegistry Expiry Date: before the flood\r\nRegistrar: None\r\n`,
    )
  },
  'million-lines': (socket) => void socket.end('key: value\r\n'.repeat(1_000_000)),
  'one-long-line': (socket) => void socket.end(`Domain Name: ${'x'.repeat(2_000_000)}\r\n`),
}

function pour(socket: Socket): void {
  const more = (): void => {
    while (!socket.destroyed) {
      if (!socket.write(BLOCK)) {
        socket.once('drain', more)
        return
      }
    }
  }
  more()
}
