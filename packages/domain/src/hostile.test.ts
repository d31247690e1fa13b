import { createHash } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { askOne, rdapBody, sendJson, startFixtureServers } from './engine-fixture.ts'
import type { FixtureServers } from './engine-fixture.ts'

/**
 * A hostile reply of an RDAP server; path and port are for redirects to the server itself and to
 * others.
 */
type RdapCase = (res: ServerResponse, path: string, port: number) => void
type WhoisCase = (socket: Socket, line: string) => void

const NOISE = createHash('sha512').update('noise').digest()

/** Writes without end, as fast as the peer reads. */
function pour(
  sink: { write(chunk: Buffer): boolean; destroyed: boolean },
  chunk: Buffer,
  on: (event: 'drain', push: () => void) => void,
): void {
  const push = (): void => {
    while (!sink.destroyed && sink.write(chunk)) continue
  }
  on('drain', push)
  push()
}

function trickle(write: () => boolean): void {
  const timer = setInterval(() => {
    if (!write()) clearInterval(timer)
  }, 20)
  timer.unref()
}

const RDAP_CASES: Record<string, RdapCase> = {
  'redirects in a loop': (res, path) => res.writeHead(302, { location: path }).end(),
  'redirects without end': (res, path) => res.writeHead(302, { location: `${path}x` }).end(),
  'redirects between two hosts': (res, path, port) =>
    res.writeHead(307, { location: `http://other.test:${port}${path}` }).end(),
  'redirects to a private address': (res) =>
    res.writeHead(302, { location: 'http://10.0.0.1/domain/x.com' }).end(),
  'redirects to a metadata service': (res) =>
    res.writeHead(301, { location: 'http://[::ffff:169.254.169.254]/latest' }).end(),
  'redirects to a decimal address': (res) =>
    res.writeHead(301, { location: 'http://2886729729/' }).end(),
  'redirects to a file': (res) => res.writeHead(302, { location: 'file:///etc/passwd' }).end(),
  'redirects with credentials': (res) =>
    res.writeHead(302, { location: 'http://a:b@other.test/' }).end(),
  'redirects nowhere': (res) => res.writeHead(302, { location: 'http://' }).end(),
  'an endless body': (res) => {
    res.writeHead(200)
    pour(res, Buffer.alloc(8_192, '{'), (event, push) => res.on(event, push))
  },
  'a body by the drop': (res) => {
    res.writeHead(200)
    trickle(() => !res.destroyed && (res.write(' '), true))
  },
  'no reply': () => undefined,
  'a compressed bomb': (res) =>
    res.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(20_000_000))),
  'a bomb in a bomb': (res) =>
    res
      .writeHead(200, { 'content-encoding': 'gzip, gzip' })
      .end(gzipSync(gzipSync(Buffer.alloc(20_000_000)))),
  'garbage as gzip': (res) => res.writeHead(200, { 'content-encoding': 'gzip' }).end(NOISE),
  'JSON 100,000 levels deep': (res) => res.writeHead(200).end('['.repeat(100_000)),
  'closed JSON 50,000 levels deep': (res) =>
    res.writeHead(200).end('['.repeat(50_000) + ']'.repeat(50_000)),
  'garbage bytes': (res) => res.writeHead(200).end(NOISE),
  'a page': (res) => res.writeHead(200).end('<html>ok</html>'),
  'a page that says 404': (res) => res.writeHead(404).end('<html>no</html>'),
  'an object of another name': (res) => sendJson(res, 200, rdapBody('other.com')),
  'an object of another class': (res) => sendJson(res, 200, { objectClassName: 'autnum' }),
  'an empty body': (res) => res.writeHead(200).end(),
  'endless headers': (res) => {
    const { socket } = res
    if (socket === null) return
    socket.write('HTTP/1.1 200 OK\r\n')
    pour(socket, Buffer.from('x-pad: aaaaaaaaaaaaaaaaaaaaaaaa\r\n'), (event, push) =>
      socket.on(event, push),
    )
  },
  'a hang-up': (res) => res.socket?.destroy(),
  'a status out of range': (res) => res.socket?.end('HTTP/1.1 999 What\r\n\r\n'),
  'two lengths': (res) =>
    res.socket?.end('HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 50\r\n\r\nhello'),
  'a server error': (res) => res.writeHead(500).end('{}'),
}

const WHOIS_CASES: Record<string, WhoisCase> = {
  'an endless reply': (socket) =>
    pour(socket, Buffer.alloc(8_192, 'x'), (event, push) => socket.on(event, push)),
  'endless lines of nothing': (socket) =>
    pour(socket, Buffer.alloc(8_192, '\n'), (event, push) => socket.on(event, push)),
  'a reply by the drop': (socket) => trickle(() => socket.writable && (socket.write('x'), true)),
  'no reply': () => undefined,
  'an empty reply': (socket) => socket.end(),
  'a reset': (socket) => socket.resetAndDestroy(),
  'garbage bytes': (socket) => socket.end(NOISE),
  'a page': (socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n<html></html>'),
  'a refusal': (socket) => socket.end('Query rate limit exceeded. Try again later.'),
  'legal text alone': (socket) =>
    socket.end(
      `${'By submitting this query you agree to the terms of this service and more. '.repeat(40)}\n`,
    ),
}

/** Referrals of the root server that must not be followed, by their fault. */
const REFERRALS: Record<string, string> = {
  'a private address': 'refer: 10.0.0.1',
  'a mapped address': 'refer: ::ffff:169.254.169.254',
  'a local name': 'refer: localhost',
  'a command': 'refer: registry.test;rm',
  'a name without address': 'refer: nowhere.test',
  'a line of 100,000 bytes': `refer: ${'a'.repeat(100_000)}`,
  'an endless chain': 'refer: whois.test',
}

const LIMITS = { rdapTimeoutMs: 300, whoisTimeoutMs: 300 }

async function expectUnknown(world: FixtureServers): Promise<void> {
  const started = performance.now()
  await using fixture = await startFixtureServers({
    ...world,
    options: { ...LIMITS, ...world.options },
  })
  const outcome = await askOne(fixture, 'victim.com')
  expect(outcome.facts.registered).toBeNull()
  expect(outcome.status).toBe('unknown')
  expect(outcome.reason).not.toBe('timeout')
  // Each query may last 0.3 s; the caller would wait for 30.
  expect(performance.now() - started).toBeLessThan(20_000)
}

const noWhois: WhoisCase = (socket) => void socket.end('% nothing is known of this zone\n')

describe('a hostile RDAP server is stopped by the limits, and the result is unknown', () => {
  test.each(Object.entries(RDAP_CASES))('%s', async (_name, misbehave) => {
    await expectUnknown({
      rdap: (req, res) => misbehave(res, req.url ?? '', req.socket.localPort ?? 0),
      whois: (line, socket) => noWhois(socket, line),
    })
  })
})

describe('a hostile WHOIS server is stopped by the limits, and the result is unknown', () => {
  test.each(Object.entries(WHOIS_CASES))('%s', async (_name, misbehave) => {
    await expectUnknown({
      rdap: (_req, res) => res.writeHead(501).end(),
      whois: (line, socket) =>
        line === 'com' ? socket.end('refer: registry.test\n') : misbehave(socket, line),
    })
  })
})

describe('a hostile referral is not followed', () => {
  test.each(Object.entries(REFERRALS))('%s', async (_name, reply) => {
    await expectUnknown({
      rdap: (_req, res) => res.writeHead(501).end(),
      whois: (_line, socket) => socket.end(`${reply}\n`),
    })
  })
})

test('a registrar with endless referrals is queried once', async () => {
  await using fixture = await startFixtureServers({
    options: LIMITS,
    rdap: (_req, res) => res.writeHead(501).end(),
    whois(line, socket) {
      if (line === 'com') socket.end('refer: registry.test\n')
      else
        socket.end(
          'Domain Name: victim.com\nName Server: a.test\nRegistrar WHOIS Server: registrar.test\n',
        )
    },
  })
  const outcome = await askOne(fixture, 'victim.com')
  expect(outcome.facts.registered).toBe(true)
  expect(fixture.whoisLines).toHaveLength(3)
})
