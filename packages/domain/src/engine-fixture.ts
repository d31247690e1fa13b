import { createServer as createHttpServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import type { Engine, EngineRequest, Answer } from '@plumbline/ports/engine'
import type { Limiter } from '@plumbline/ports/limiter'
import type { Memory } from '@plumbline/ports/memory'
import type { Json, Outcome } from '@plumbline/contract/outcome'
import type { Answer as DnsRecord } from 'dns-packet'
import { AA, RA, startDns } from '@plumbline/net/dns-fixture'
import type { DnsFixture, Reply } from '@plumbline/net/dns-fixture'
import { createEgress } from '@plumbline/net/egress'
import { createResolver } from '@plumbline/net/resolver'
import { createDomainEngine } from './engine.ts'
import type { DomainEngineOptions } from './engine.ts'

/** Servers on loopback for one engine: DNS, RDAP and WHOIS, each defined by a function. */
export interface FixtureServers {
  /** Records by `NAME TYPE`; a name without any does not exist. */
  readonly zone?: Readonly<Record<string, DnsRecord[]>>
  readonly dns?: (name: string, type: string) => Reply | undefined
  /** The reply to queries for the root; default: it is known. */
  readonly root?: () => Reply
  /** The clock of the resolver; default that of the process. */
  readonly now?: () => number
  readonly rdap?: (req: IncomingMessage, res: ServerResponse) => void
  /** Handles a WHOIS connection: the query line and the socket. */
  readonly whois?: (line: string, socket: Socket) => void
  readonly options?: Partial<DomainEngineOptions>
}

export interface Fixture extends AsyncDisposable {
  readonly engine: Engine<'domain'>
  readonly dns: DnsFixture
  readonly rdapPort: number
  readonly whoisPort: number
  readonly rdapPaths: string[]
  readonly whoisLines: string[]
  readonly memory: Map<string, Json>
}

/** Host names that resolve to loopback in every test. */
const HOSTS = [
  'rdap.test',
  'other.test',
  'list.test',
  'whois.test',
  'registry.test',
  'registrar.test',
]

/** The silent log of tests. */
export const SILENT = { debug: nothing, info: nothing, warn: nothing, error: nothing }

/** Starts the servers, and an engine that uses them; its RDAP list has `com` at `rdap.test`. */
export async function startFixtureServers(servers: FixtureServers): Promise<Fixture> {
  const started = new AsyncDisposableStack()
  const rdapPaths: string[] = []
  const whoisLines: string[] = []
  const dns = started.use(
    await startDns(
      (name, type) => answerDns(servers, name, type),
      servers.root === undefined ? {} : { root: servers.root },
    ),
  )
  const rdapPort = await startHttp(started, (req, res) => {
    if (req.url === '/dns.json') {
      const services = [[['com', 'uk'], [`http://rdap.test:${rdapPort}/`]]]
      res.end(JSON.stringify({ version: '1.0', services }))
      return
    }
    rdapPaths.push(req.url ?? '')
    if (servers.rdap === undefined) res.writeHead(404).end()
    else servers.rdap(req, res)
  })
  const whoisPort = await startWhois(started, (line, socket) => {
    whoisLines.push(line)
    if (servers.whois === undefined) socket.end('No match')
    else servers.whois(line, socket)
  })
  const egress = createEgress({ allow: ['127.0.0.0/8'] })
  const { memory, held } = createTestMemory()
  const engine = started.use(
    createDomainEngine({
      egress,
      resolver: createResolver({
        servers: [`127.0.0.1:${dns.port}`],
        egress,
        timeoutMs: 400,
        tryMs: 150,
        ...(servers.now === undefined ? {} : { now: servers.now }),
      }),
      memory,
      limiter: createOpenLimiter(),
      log: SILENT,
      disposable: {
        has: (name, mxHosts) => name === 'throwaway.com' || mxHosts.includes('mx.throwaway.com'),
      },
      parkingNs: { has: (name) => name.endsWith('parking.test') },
      parkingIp: { has: (bytes) => bytes[0] === 192 && bytes[3] === 99 },
      rdapBootstrapUrl: `http://list.test:${rdapPort}/dns.json`,
      whoisServer: 'whois.test',
      whoisPort,
      nameServerPort: dns.port,
      registryPerSecond: 1_000,
      clock: () => new Date('2026-11-21T12:00:00Z'),
      ...servers.options,
    }),
  )
  return {
    engine,
    dns,
    rdapPort,
    whoisPort,
    rdapPaths,
    whoisLines,
    memory: held,
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  }
}

/** Sends subjects to the engine as a single call. */
export async function ask(
  fixture: Fixture,
  subjects: readonly string[],
  more: Partial<EngineRequest<'domain'>> = {},
): Promise<readonly Answer<'domain'>[]> {
  return fixture.engine.run({
    subjects,
    depth: 'basic',
    lane: 'live',
    account: 't',
    signal: AbortSignal.timeout(30_000),
    ...more,
  })
}

/** The outcome of one subject. */
export async function askOne(fixture: Fixture, subject: string): Promise<Outcome<'domain'>> {
  const [answer] = await ask(fixture, [subject])
  if (answer?.kind !== 'outcome') throw new Error('no outcome')
  return answer
}

/** A healthy zone for a name: apex records, mail policy, and its own name server on loopback. */
export function healthyZone(name: string): Record<string, DnsRecord[]> {
  const ttl = 60
  return {
    [`${name} A`]: [{ name, type: 'A', ttl, data: '198.51.100.7' }],
    [`${name} MX`]: [{ name, type: 'MX', ttl, data: { preference: 10, exchange: `mx.${name}` } }],
    [`${name} NS`]: [{ name, type: 'NS', ttl, data: `ns.${name}` }],
    [`${name} SOA`]: [
      {
        name,
        type: 'SOA',
        ttl,
        data: { mname: `ns.${name}`, rname: `host.${name}`, serial: 1, minimum: 60 },
      },
    ],
    [`${name} TXT`]: [{ name, type: 'TXT', ttl, data: 'v=spf1 -all' }],
    [`_dmarc.${name} TXT`]: [
      { name: `_dmarc.${name}`, type: 'TXT', ttl, data: 'v=DMARC1; p=reject' },
    ],
    [`ns.${name} A`]: [{ name: `ns.${name}`, type: 'A', ttl, data: '127.0.0.1' }],
  }
}

/** The RDAP body of a registered name. */
export function rdapBody(name: string, more: object = {}): object {
  return {
    objectClassName: 'domain',
    ldhName: name,
    status: ['active'],
    events: [
      { eventAction: 'registration', eventDate: '2020-11-21T23:00:00Z' },
      { eventAction: 'expiration', eventDate: '2030-01-01T00:00:00Z' },
    ],
    entities: [
      { roles: ['registrar'], vcardArray: ['vcard', [['fn', {}, 'text', 'Acme Registrar']]] },
    ],
    ...more,
  }
}

/** Sends a JSON body with a status. */
export function sendJson(res: ServerResponse, status: number, body: unknown): void {
  res.writeHead(status, { 'content-type': 'application/rdap+json' }).end(JSON.stringify(body))
}

function answerDns(servers: FixtureServers, name: string, type: string): Reply {
  const own = servers.dns?.(name, type)
  if (own !== undefined) return own
  if (HOSTS.includes(name)) {
    const records: DnsRecord[] = [{ name, type: 'A', ttl: 60, data: '127.0.0.1' }]
    return { answers: type === 'A' ? records : [] }
  }
  const zone = servers.zone ?? {}
  const answers = zone[`${name} ${type}`]
  if (answers !== undefined) return { answers, flags: RA | AA }
  const exists = Object.keys(zone).some((key) => key.split(' ')[0]?.endsWith(name))
  const soa: DnsRecord = {
    name: 'com',
    type: 'SOA',
    ttl: 60,
    data: { mname: 'a.com', rname: 'h.com', serial: 1, minimum: 60 },
  }
  return { flags: exists ? RA : RA | 3, authorities: [soa] }
}

async function startHttp(
  started: AsyncDisposableStack,
  handler: (req: IncomingMessage, res: ServerResponse) => void,
): Promise<number> {
  const server = createHttpServer(handler)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  started.defer(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return (server.address() as AddressInfo).port
}

async function startWhois(
  started: AsyncDisposableStack,
  handler: (line: string, socket: Socket) => void,
): Promise<number> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', nothing)
    socket.once('data', (data: Buffer) => handler(data.toString().trim(), socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  started.defer(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  })
  return (server.address() as AddressInfo).port
}

function createTestMemory(): { memory: Memory; held: Map<string, Json> } {
  const held = new Map<string, Json>()
  return {
    held,
    memory: {
      get: async (keys) => keys.map((key) => held.get(key)),
      async set(entries) {
        for (const { key, value } of entries) held.set(key, value)
      },
      async claim({ key, value }) {
        if (held.has(key)) return false
        held.set(key, value)
        return true
      },
      async delete(keys) {
        for (const key of keys) held.delete(key)
      },
    },
  }
}

/** A limiter that grants everything. */
export function createOpenLimiter(): Limiter {
  return {
    take: async () => ({ granted: true }),
    lease: async () => ({ granted: true, renew: async () => true, release: async () => undefined }),
  }
}

function nothing(): void {}
