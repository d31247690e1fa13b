import { spawnSync } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { connect, createServer } from 'node:net'
import type { Server, Socket } from 'node:net'
import { createDomainEngine } from '@plumbline/domain/engine'
import { testEngine } from '@plumbline/email/engine-fixture'
import { formatAddress, parseAddress } from '@plumbline/net/address'
import { startDns, type Reply } from '@plumbline/net/dns-fixture'
import { createEgress, type Egress } from '@plumbline/net/egress'
import { fetchBounded } from '@plumbline/net/http'
import { createResolver, type Resolver } from '@plumbline/net/resolver'
import { SPECIAL_BLOCKS } from '@plumbline/net/special-addresses'
import { createLocalLimiter } from '@plumbline/queue/local-limiter'
import { createLocalMemory } from './local-memory.ts'

// Runs in a network namespace of its own, in which this process has every address of the internet. Has
// the engines check names that lead to special addresses, with the egress guard as in production, and
// reports over IPC which connections arrived.

/** Connections and datagrams that the listeners received, and numbers of attempts. */
export interface NamespaceReport {
  /** Blocks in which a connection without the guard reaches a listener. */
  readonly reachable: readonly string[]
  readonly unreachable: readonly string[]
  readonly addresses: number
  readonly attempts: number
  /** Connections and datagrams to anything but the two permitted addresses. */
  readonly received: readonly string[]
  /** How the control address was reached (`smtp`, `redirect`, ...), sorted. */
  readonly control: readonly string[]
  readonly statuses: Readonly<Record<string, number>>
}

/** Ordinary addresses: one serves RDAP and WHOIS, the other replaces special ones as a control. */
const SERVICES = '8.8.4.4'
const CONTROL = '9.9.9.9'
const PORTS = { smtp: 25, whois: 43, dns: 53, http: 80, https: 443 } as const
const EACH_BLOCK = 8
const RUN_MS = 60_000

interface Received {
  readonly special: string[]
  readonly control: Set<string>
}

await main()

async function main(): Promise<void> {
  for (const args of [
    ['link', 'set', 'lo', 'up'],
    ['route', 'add', 'local', '0.0.0.0/0', 'dev', 'lo'],
    ['-6', 'route', 'add', 'local', '::/0', 'dev', 'lo'],
  ]) {
    const { status, stderr } = spawnSync('ip', args, { encoding: 'utf8' })
    if (status !== 0) throw new Error(`ip ${args.join(' ')}: ${stderr}`)
  }
  const received: Received = { special: [], control: new Set() }
  await listen(received)
  const { reachable, unreachable } = await findReachable(received)
  received.special.length = 0
  const addresses = specialAddresses()
  const counted = { attempts: 0 }
  await using dns = await startDns(zoneOf([...addresses, CONTROL]))
  const egress = counting(createEgress({ allow: [] }), counted)
  const resolver = createResolver({
    servers: [`127.0.0.1:${dns.port}`],
    egress,
    concurrency: 200,
  })
  await askDirectly(addresses, egress, resolver)
  const statuses = await askEngines(addresses.length + 1, egress, resolver)
  const report: NamespaceReport = {
    reachable,
    unreachable,
    addresses: addresses.length,
    attempts: counted.attempts,
    received: received.special,
    control: [...received.control].toSorted(),
    statuses,
  }
  process.send?.(report, () => process.exit(0))
}

/** Listens on every address: serves the permitted two, and records what else arrives. */
async function listen(received: Received): Promise<void> {
  const receive = (port: string, socket: Socket): boolean => {
    socket.on('error', () => undefined)
    if (isControl(socket)) received.control.add(port)
    const address = localAddressOf(socket)
    if (address === CONTROL || address === SERVICES) return true
    received.special.push(`${address} ${port}`)
    return false
  }
  const servers: Readonly<Record<keyof typeof PORTS, Server>> = {
    smtp: createServer((socket) => receive('smtp', socket) && socket.end('554 not here\r\n')),
    whois: createServer((socket) => {
      if (!receive('whois', socket)) return
      socket.once('data', (line) => {
        socket.end(`refer: h${/\d+/.exec(String(line))?.[0] ?? ''}.test\n`)
      })
    }),
    dns: createServer((socket) => void receive('dns', socket)),
    https: createServer((socket) => void receive('https', socket)),
    http: createHttpServer((req, res) => {
      const { host = '' } = req.headers
      if (host !== 'rdap.test') {
        if (isControl(req.socket)) received.control.add(host.startsWith('h') ? 'redirect' : 'page')
        res.writeHead(500).end()
      } else {
        const number = /n(\d+)\./.exec(req.url ?? '')?.[1] ?? ''
        res.writeHead(302, { location: `http://h${number}.test/` }).end()
      }
    }).on('connection', (socket: Socket) => void receive('http', socket)),
  }
  for (const [name, port] of Object.entries(PORTS)) {
    const server = servers[name as keyof typeof PORTS]
    server.listen(port, '::')
    await once(server, 'listening')
  }
  const datagrams = createSocket('udp6')
  datagrams.on('message', (message) => {
    // A datagram does not tell where it was sent: its question does.
    if (message.includes('control')) received.control.add('dns')
    else received.special.push(`datagram ${message.toString('latin1').replace(/[^a-z0-9]+/g, ' ')}`)
  })
  datagrams.bind(PORTS.dns, '::')
  await once(datagrams, 'listening')
}

function isControl(socket: Socket): boolean {
  return localAddressOf(socket) === CONTROL
}

function localAddressOf(socket: Socket): string {
  return (socket.localAddress ?? '').replace(/^::ffff:(?=\d+\.)/, '')
}

/** Finds the blocks that a connection without the guard reaches; the kernel refuses multicast and broadcast. */
async function findReachable(
  received: Received,
): Promise<{ reachable: string[]; unreachable: string[] }> {
  const reachable: string[] = []
  const unreachable: string[] = []
  for (const { cidr, block } of SPECIAL_BLOCKS) {
    // The middle, since ends of a block may be broadcast addresses.
    const value = block.first + (block.last - block.first + 1n) / 2n
    const host = formatAddress({ version: block.version, value })
    const socket = connect({ host, port: PORTS.http, autoSelectFamily: false })
    const before = received.special.length
    const isOpen = await new Promise<boolean>((resolve) => {
      socket.setTimeout(500, () => resolve(false))
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    })
    if (isOpen) while (received.special.length === before) await new Promise(setImmediate)
    socket.destroy()
    ;(isOpen ? reachable : unreachable).push(cidr)
  }
  return { reachable, unreachable }
}

/** First, last and spread addresses of every special block. */
function specialAddresses(): readonly string[] {
  const texts = new Set<string>(['168.63.129.16'])
  for (const { block } of SPECIAL_BLOCKS) {
    const size = block.last - block.first + 1n
    const values = [block.first, block.last]
    for (let seed = 1; seed <= EACH_BLOCK; seed++) {
      const spread = BigInt(Math.floor(Math.random() * 2 ** 48)) * 0x9e37_79b9_7f4a_7c15_f39cn
      values.push(block.first + (spread % size))
    }
    for (const value of values) {
      const text = formatAddress({ version: block.version, value })
      // To the kernel a mapped address is the IPv4 one; the mapped controls are ordinary.
      if (!text.startsWith('::ffff:')) texts.add(text)
    }
  }
  return [...texts]
}

/** Hosts, mail hosts and name servers with a number in their name resolve to the address of that number. */
function zoneOf(addresses: readonly string[]): (name: string, type: string) => Reply {
  return (name, type) => {
    if (['rdap.test', 'whois.test'].includes(name)) return records(name, type, SERVICES)
    const number = /^(?:h|ns\.(?:control-)?n|mx\.n|n|control-n)(\d+)\./.exec(name)?.[1]
    if (number === undefined) return { answers: [] }
    if (type === 'NS' && /^(?:control-)?n/.test(name) && !name.startsWith('ns.')) {
      return { answers: [{ name, type, ttl: 60, data: `ns.${name}` }] }
    }
    if (type === 'MX' && /^(?:control-)?n/.test(name)) {
      const data = { preference: 10, exchange: `mx.n${number}.test` }
      return { answers: [{ name, type, ttl: 60, data }] }
    }
    return records(name, type, addresses[Number(number)] ?? '')
  }
}

function records(name: string, type: string, data: string): Reply {
  const wanted = parseAddress(data)?.version === 4 ? 'A' : 'AAAA'
  return { answers: type === wanted ? [{ name, type: wanted, ttl: 60, data }] : [] }
}

/** A guard that counts each check of an address, each connection and each datagram. */
function counting(guard: Egress, counted: { attempts: number }): Egress {
  return {
    ...guard,
    permits(address) {
      counted.attempts++
      return guard.permits(address)
    },
    dial(request) {
      counted.attempts++
      return guard.dial(request)
    },
    datagram(target) {
      if (target.trusted !== true) counted.attempts++
      return guard.datagram(target)
    },
  }
}

/** Connects to, sends to and fetches from each address, in every notation of a URL or a record. */
async function askDirectly(
  addresses: readonly string[],
  egress: Egress,
  resolver: Resolver,
): Promise<void> {
  const signal = AbortSignal.timeout(RUN_MS)
  for (const address of addresses) {
    for (const spelling of spellings(address)) {
      for (const port of Object.values(PORTS)) {
        await egress
          .dial({ address: spelling, port, timeoutMs: 500, signal })
          .then((socket) => socket.destroy())
          .catch(() => undefined)
      }
      try {
        egress.datagram({ address: spelling, port: PORTS.dns }).send('special')
      } catch {
        // Refused, as it should be.
      }
      const host = spelling.includes(':') ? `[${spelling}]` : spelling
      await fetchBounded({
        url: `http://${host}/`,
        maxBytes: 1_000,
        maxRedirects: 0,
        timeoutMs: 500,
        signal,
        egress,
        resolver,
      }).catch(() => undefined)
    }
  }
}

function spellings(text: string): readonly string[] {
  const address = parseAddress(text)
  if (address === null || address.version === 6) return [text, text.toUpperCase()]
  const hex = address.value.toString(16).padStart(8, '0')
  const [high, low] = [hex.slice(0, 4), hex.slice(4)]
  return [text, String(address.value), `0x${hex}`, `::ffff:${text}`, `64:ff9b::${high}:${low}`]
}

/** Has the domain and email engines check a name for each address; the last is the control. */
async function askEngines(
  count: number,
  egress: Egress,
  resolver: Resolver,
): Promise<Record<string, number>> {
  const nobody = { has: (): boolean => false }
  const silent = (): void => undefined
  await using domains = createDomainEngine({
    egress,
    resolver,
    memory: createLocalMemory(),
    limiter: createLocalLimiter(),
    log: { debug: silent, info: silent, warn: silent, error: silent },
    disposable: nobody,
    parkingNs: nobody,
    parkingIp: nobody,
    rdapOverrides: Object.fromEntries(
      Array.from({ length: count }, (_, number) => [`t${number}`, 'http://rdap.test/']),
    ),
    whoisServer: 'whois.test',
    registryPerSecond: 1_000_000,
    registryConcurrency: 50,
    readPages: true,
  })
  await using emails = testEngine(PORTS.smtp, {}, { egress, resolver })
  const names = Array.from({ length: count }, (_, number) =>
    number === count - 1 ? `control-n${number}.t${number}` : `n${number}.t${number}`,
  )
  const request = {
    depth: 'basic',
    lane: 'bulk',
    account: 'namespace',
    signal: AbortSignal.timeout(RUN_MS),
  } as const
  const answers = [
    ...(await domains.run({ ...request, subjects: names })),
    ...(await emails.run({ ...request, subjects: names.map((name) => `someone@${name}`) })),
  ]
  const statuses: Record<string, number> = {}
  for (const answer of answers) {
    const key = answer.kind === 'later' ? 'later' : answer.status
    statuses[key] = (statuses[key] ?? 0) + 1
  }
  return statuses
}
