import { connect } from 'node:net'
import { createSocket } from 'node:dgram'
import { expect, test } from 'vitest'
import { testEngine } from '@plumbline/email/engine-fixture'
import { DEFAULT_LIMITS } from '@plumbline/email/limits'
import { formatAddress, parseAddress } from '@plumbline/net/address'
import type { IpAddress } from '@plumbline/net/address'
import type { Reply } from '@plumbline/net/dns-fixture'
import { createEgress } from '@plumbline/net/egress'
import type { Connectors, Egress, Target } from '@plumbline/net/egress'
import { createResolver } from '@plumbline/net/resolver'
import { SPECIAL_BLOCKS } from '@plumbline/net/special-addresses'
import type { Answer } from '@plumbline/ports/engine'
import { SILENT, ask, startFixtureServers } from './engine-fixture.ts'

/** A public address in place of the special ones, to prove that every path opens connections. */
const CONTROL = '9.9.9.9'
const OWN = '127.0.0.1'
/** Groups that a batch can have connections open to at once. */
const BULK_SESSIONS = DEFAULT_LIMITS.sessions - DEFAULT_LIMITS.liveSessions
const PORTS = { smtp: 25, page: 80, redirect: 443 } as const

/**
 * First, last and scattered addresses of every special block, except the address that the test
 * itself uses; those of IPv4 also in the forms in which an AAAA record can hold them.
 */
function specialAddresses(): string[] {
  const texts = new Set<string>()
  for (const { block, cidr } of SPECIAL_BLOCKS) {
    // The rows of IPv4 are written mapped below.
    if (cidr === '::ffff:0:0/96') continue
    const size = block.last - block.first + 1n
    const values = [block.first, block.last]
    for (let seed = 1n; seed <= 10n; seed++) {
      values.push(block.first + ((seed * 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c834n) % size))
    }
    for (const value of values) {
      const address = { version: block.version, value }
      texts.add(formatAddress(address))
      if (address.version === 6) continue
      texts.add(formatAddress({ version: 6, value: (0xffffn << 32n) | value }))
      texts.add(formatAddress({ version: 6, value: (0x64_ff9bn << 96n) | value }))
      texts.add(formatAddress({ version: 6, value: (0x2002n << 112n) | (value << 80n) | 1n }))
    }
  }
  return [...texts].filter((text) => !/^(?:::ffff:)?127\.0\.0\.1$/.test(text))
}

/**
 * Every name below a number resolves to the address with that number: mail, name server, page,
 * referral.
 */
function zoneOf(addresses: readonly string[]): (name: string, type: string) => Reply | undefined {
  return (name, type) => {
    const number = /^(?:h|m|ns\.n|n)(\d+)\./.exec(name)?.[1]
    if (number === undefined) return undefined
    if (type === 'NS' && name.startsWith('n') && !name.startsWith('ns.')) {
      return { answers: [{ name, type, ttl: 60, data: `ns.${name}` }] }
    }
    // Every other domain has no MX: its own address is the mail host then.
    if (type === 'MX' && name.startsWith('n') && Number(number) % 2 === 0) {
      const data = { preference: 10, exchange: `m${number}.test` }
      return { answers: [{ name, type, ttl: 60, data }] }
    }
    const data = addresses[Number(number)] ?? ''
    const wanted = parseAddress(data)?.version === 4 ? 'A' : 'AAAA'
    return { answers: type === wanted ? [{ name, type: wanted, ttl: 60, data }] : [] }
  }
}

/** Target of an RDAP redirect for a number: a name, or the address itself as a URL may write it. */
function redirectOf(number: number, addresses: readonly string[]): string {
  const text = addresses[number] ?? ''
  const address = parseAddress(text)
  const literals =
    address?.version === 4
      ? [text, String(address.value), `0x${address.value.toString(16)}`, `[::ffff:${text}]`]
      : [`[${text}]`, `[${text.toUpperCase()}]`]
  const host = number % 2 === 0 ? `h${number}.test` : literals[(number >> 1) % literals.length]
  return `http://${host}:${PORTS.redirect}/`
}

interface Counted {
  attempts: number
  /** Special addresses that the functions that open sockets were asked for. */
  readonly dialled: string[]
  /** Transports and ports by which the control address was reached. */
  readonly reached: Set<string>
}

/** Opens sockets to the test's own servers only, and records other addresses that are asked for. */
function notingConnectors({ dialled, reached }: Counted): Connectors {
  const note = ({ transport, address, port }: Target): boolean => {
    if (address === OWN) return true
    if (address === CONTROL) reached.add(`${transport} ${port}`)
    else dialled.push(address)
    return false
  }
  return {
    tcp: (target) => connect(note(target) ? target.port : 1, OWN),
    udp(target) {
      const socket = createSocket('udp4')
      socket.connect(note(target) ? target.port : 1, OWN)
      return socket
    },
  }
}

/** Counts the connections that the guard is asked for. */
function countingEgress(guard: Egress, counted: Counted): Egress {
  const count = (address: string): void => {
    if (address !== OWN && address !== CONTROL) counted.attempts++
  }
  return {
    ...guard,
    permits(address) {
      count(address)
      return guard.permits(address)
    },
    dial(request) {
      count(request.address)
      return guard.dial(request)
    },
    datagram(target) {
      count(target.address)
      return guard.datagram(target)
    },
  }
}

interface Checked {
  readonly counted: Counted
  readonly domains: readonly Answer<'domain'>[]
  readonly emails: readonly Answer<'email'>[]
  readonly whoisPort: number
}

/**
 * Checks a domain and an email for each address, with servers of the test that refer to it; counts
 * the connections.
 */
async function checkAll(
  addresses: readonly string[],
  isOwn: (address: IpAddress) => boolean = () => false,
): Promise<Checked> {
  const counted: Counted = { attempts: 0, dialled: [], reached: new Set() }
  const guard = createEgress({ allow: [OWN], isOwn, connect: notingConnectors(counted) })
  const egress = countingEgress(guard, counted)
  await using fixture = await startFixtureServers({
    dns: zoneOf(addresses),
    rdap(req, res) {
      const number = Number(/n(\d+)\./.exec(req.url ?? '')?.[1])
      res.writeHead(302, { location: redirectOf(number, addresses) }).end()
    },
    whois(line, socket) {
      socket.end(`refer: h${/\d+/.exec(line)?.[0]}.test\n`)
    },
  })
  const resolver = createResolver({
    servers: [`${OWN}:${fixture.dns.port}`],
    egress,
    concurrency: 100,
  })
  await using guarded = await startFixtureServers({
    options: {
      egress,
      resolver,
      readPages: true,
      registryPerSecond: 1_000_000,
      registryConcurrency: 50,
      whoisPort: fixture.whoisPort,
      nameServerPort: 53,
      rdapBootstrapUrl: `http://${OWN}:${fixture.rdapPort}/dns.json`,
      rdapOverrides: Object.fromEntries(
        addresses.map((_, number) => [`t${number}`, `http://rdap.test:${fixture.rdapPort}/`]),
      ),
    },
  })
  await using mail = testEngine(PORTS.smtp, {}, { egress, resolver, log: SILENT })
  const names = addresses.map((_, number) => `n${number}.t${number}`)
  const signal = AbortSignal.timeout(110_000)
  const domains = await ask(guarded, names, { lane: 'bulk', signal })
  const emails: Answer<'email'>[] = []
  // Beyond what a batch may hold open at once, groups are told to come back later.
  for (let from = 0; from < names.length; from += BULK_SESSIONS) {
    const subjects = names.slice(from, from + BULK_SESSIONS).map((name) => `someone@${name}`)
    const told = await mail.run({ subjects, depth: 'basic', lane: 'bulk', account: 't', signal })
    emails.push(...told)
  }
  return { counted, domains, emails, whoisPort: fixture.whoisPort }
}

test('no path connects to a special address: mail, redirect, referral, name server, page', async () => {
  const addresses = [...specialAddresses(), CONTROL, CONTROL]
  const { counted, domains, emails, whoisPort } = await checkAll(addresses)
  expect(domains.every(({ kind }) => kind === 'outcome')).toBe(true)
  expect(emails).toHaveLength(addresses.length)
  expect(counted.attempts).toBeGreaterThan(5_000)
  expect(counted.dialled).toEqual([])
  const { smtp, page, redirect } = PORTS
  expect([...counted.reached].toSorted()).toEqual(
    [`tcp ${smtp}`, `tcp ${page}`, `tcp ${redirect}`, `tcp ${whoisPort}`, 'udp 53'].toSorted(),
  )
})

test('an own address of the machine is reached as a mail host and a name server only', async () => {
  const isOwn = (address: IpAddress): boolean => formatAddress(address) === CONTROL
  const { counted, domains } = await checkAll([CONTROL, CONTROL], isOwn)
  expect(domains.every(({ kind }) => kind === 'outcome')).toBe(true)
  expect([...counted.reached].toSorted()).toEqual([`tcp ${PORTS.smtp}`, 'udp 53'])
})
