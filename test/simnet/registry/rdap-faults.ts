import type { IncomingMessage, ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'

/** One RDAP request that gets a faulty reply. */
export interface RdapFaultContext {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** URL of the server. */
  readonly url: string
}

type Play = (context: RdapFaultContext) => void

const TYPE = { 'content-type': 'application/rdap+json' }
const BLOCK = Buffer.alloc(64 * 1024, 0x20)
const BOMB_BYTES = 256 * 1024 * 1024

/** Faults of RDAP servers, by name; the zone `rdap-<name>` has a server with that fault. */
export const RDAP_FAULTS: Readonly<Record<string, Play>> = {
  'server-error': status(500),
  'bad-gateway': status(502),
  forbidden: status(403),
  'bad-request': status(400),
  'not-implemented': status(501),
  'unavailable-for-legal-reasons': status(451),
  'throttled-for-ever': ({ response }) =>
    void response.writeHead(429, { 'retry-after': '86400' }).end(),
  'throttled-by-date': ({ response }) =>
    void response
      .writeHead(429, { 'retry-after': new Date(Date.now() + 2000).toUTCString() })
      .end(),
  'throttled-without-time': ({ response }) => void response.writeHead(429).end(),
  silent: () => undefined,
  'closes-at-once': ({ request }) => void request.socket.destroy(),
  'closes-in-body': ({ request, response }) => {
    response.writeHead(200, { ...TYPE, 'content-length': '5000' })
    response.write('{"objectClassName":"domain",', () => request.socket.destroy())
  },
  'redirects-to-itself': ({ response, url }) =>
    void response.writeHead(302, { location: url }).end(),
  'redirects-for-ever': ({ response, url }) =>
    void response.writeHead(302, { location: `${url.replace(/\?.*/, '')}?${Math.random()}` }).end(),
  'redirects-to-loopback-service': ({ response }) =>
    void response.writeHead(302, { location: 'http://[::1]:22/' }).end(),
  'redirects-to-metadata': ({ response }) =>
    void response.writeHead(302, { location: 'http://169.254.169.254/latest/meta-data/' }).end(),
  'redirects-to-file': ({ response }) =>
    void response.writeHead(302, { location: 'file:///etc/passwd' }).end(),
  'redirects-nowhere': ({ response }) => void response.writeHead(302).end(),
  'endless-body': ({ response }) => {
    response.writeHead(200, TYPE)
    response.write('{"a":"')
    pour(response)
  },
  'endless-headers': ({ request }) => {
    const { socket } = request
    socket.write('HTTP/1.1 200 OK\r\n')
    const more = (): void => {
      while (!socket.destroyed) {
        if (!socket.write('X-More: and more\r\n'.repeat(1000))) {
          socket.once('drain', more)
          return
        }
      }
    }
    more()
  },
  'dripping-body': ({ response }) => {
    response.writeHead(200, TYPE)
    const timer = setInterval(() => response.write(' '), 250)
    response.on('close', () => clearInterval(timer))
  },
  'compressed-bomb': ({ response }) => {
    response.writeHead(200, { ...TYPE, 'content-encoding': 'gzip' }).end(bomb())
  },
  'broken-compression': ({ response }) =>
    void response
      .writeHead(200, { ...TYPE, 'content-encoding': 'gzip' })
      .end(Buffer.from('no gzip at all')),
  'deep-json': body(() => '['.repeat(100_000) + ']'.repeat(100_000)),
  'deep-entities': body(
    () => `${'{"objectClassName":"domain","entities":['.repeat(5000)}${']}'.repeat(5000)}`,
  ),
  'not-json': body(() => '<html><body>Domain not found</body></html>'),
  'empty-body': body(() => ''),
  'json-null': body(() => 'null'),
  'json-array': body(() => '[]'),
  'wrong-types': body(() =>
    JSON.stringify({
      objectClassName: 'domain',
      ldhName: 7,
      events: { eventAction: 'registration' },
      entities: 'none',
      status: 3,
      nameservers: [null, 4],
    }),
  ),
  'broken-dates': body(() =>
    JSON.stringify({
      objectClassName: 'domain',
      ldhName: 'name.example',
      events: [
        { eventAction: 'registration', eventDate: '31-31-2020' },
        { eventAction: 'expiration', eventDate: '+275760-09-13T00:00:00Z' },
      ],
    }),
  ),
  'another-name': body(() =>
    JSON.stringify({
      objectClassName: 'domain',
      ldhName: 'somebody-else.example',
      events: [{ eventAction: 'registration', eventDate: '2001-01-01T00:00:00Z' }],
    }),
  ),
  'garbage-bytes': body(() =>
    Buffer.from(Array.from({ length: 4096 }, (_, i) => (i * 167 + 13) & 0xff)),
  ),
  '404-of-a-web-server': ({ response }) =>
    void response
      .writeHead(404, { 'content-type': 'text/html' })
      .end('<html><head><title>404 Not Found</title></head></html>'),
}

function status(code: number): Play {
  return ({ response }) =>
    void response.writeHead(code, TYPE).end(JSON.stringify({ errorCode: code, title: 'no' }))
}

function body(make: () => string | Buffer): Play {
  return ({ response }) => void response.writeHead(200, TYPE).end(make())
}

function pour(response: ServerResponse): void {
  const more = (): void => {
    while (!response.destroyed) {
      if (!response.write(BLOCK)) {
        response.once('drain', more)
        return
      }
    }
  }
  more()
}

let madeBomb: Buffer | undefined

/** A quarter of a gigabyte of spaces, compressed to a few hundred kilobytes. */
function bomb(): Buffer {
  madeBomb ??= gzipSync(Buffer.alloc(BOMB_BYTES, 0x20))
  return madeBomb
}
