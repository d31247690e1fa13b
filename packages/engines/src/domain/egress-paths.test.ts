import { connect } from 'node:net'
import { createSocket } from 'node:dgram'
import { expect, test } from 'vitest'
import { formatAddress, parseAddress } from '../net/address.ts'
import { createEgress } from '../net/egress.ts'
import type { Egress } from '../net/egress.ts'
import { createResolver } from '../net/resolver.ts'
import { SPECIAL_BLOCKS } from '../net/special-addresses.ts'
import { ask, startWorld } from './engine-fixture.ts'

/** First, last and spread addresses of every special block, but for the one that the test lives on. */
function specialAddresses(): string[] {
  const addresses: string[] = []
  for (const { block, cidr } of SPECIAL_BLOCKS) {
    if (cidr === '::ffff:0:0/96') continue
    const size = block.last - block.first + 1n
    const values = new Set([block.first, block.last])
    for (let part = 1n; part <= 29n; part++) values.add(block.first + (size * part) / 30n)
    for (const value of values) {
      const text = formatAddress({ version: block.version, value })
      if (text !== '127.0.0.1' && value <= block.last) addresses.push(text)
    }
  }
  return addresses
}

test('no path of the engine dials a special address: redirect, referral, name server, page', async () => {
  const addresses = specialAddresses()
  const counted = { attempts: 0, dialled: [] as string[] }
  const guard = createEgress({
    allow: ['127.0.0.1'],
    connect: {
      tcp(target) {
        if (target.address !== '127.0.0.1') counted.dialled.push(target.address)
        return connect(target.port, target.address)
      },
      udp(target) {
        if (target.address !== '127.0.0.1') counted.dialled.push(target.address)
        const socket = createSocket('udp4')
        socket.connect(target.port, target.address)
        return socket
      },
    },
  })
  const count = (address: string): void => {
    if (address !== '127.0.0.1') counted.attempts++
  }
  const egress: Egress = {
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
  await using world = await startWorld({
    dns(name, type) {
      const number = /^(?:h|ns\.n|n)(\d+)\./.exec(name)?.[1]
      if (number === undefined) return undefined
      if (type === 'NS' && name.startsWith('n')) {
        return { answers: [{ name, type: 'NS', ttl: 60, data: `ns.${name}` }] }
      }
      const data = addresses[Number(number)] ?? ''
      const wanted = parseAddress(data)?.version === 4 ? 'A' : 'AAAA'
      return { answers: type === wanted ? [{ name, type: wanted, ttl: 60, data }] : [] }
    },
    rdap(req, res) {
      const number = /n(\d+)\./.exec(req.url ?? '')?.[1]
      res.writeHead(302, { location: `http://h${number}.test/` }).end()
    },
    whois(line, socket) {
      socket.end(`refer: h${/\d+/.exec(line)?.[0]}.test\n`)
    },
  })
  await using guarded = await startWorld({
    options: {
      egress,
      resolver: createResolver({
        servers: [`127.0.0.1:${world.dns.port}`],
        egress,
        concurrency: 100,
      }),
      readPages: true,
      registryPerSecond: 1_000_000,
      registryConcurrency: 50,
      whoisPort: world.whoisPort,
      rdapBootstrapUrl: `http://127.0.0.1:${world.rdapPort}/dns.json`,
      rdapOverrides: Object.fromEntries(
        addresses.map((_, number) => [`t${number}`, `http://rdap.test:${world.rdapPort}/`]),
      ),
    },
  })
  const subjects = addresses.map((_, number) => `n${number}.t${number}`)
  const signal = AbortSignal.timeout(25_000)
  const answers = await ask(guarded, subjects, { lane: 'bulk', signal })
  expect(answers.every((answer) => answer.kind === 'outcome' && answer.status === 'unknown')).toBe(
    true,
  )
  expect(counted.attempts).toBeGreaterThan(5_000)
  expect(counted.dialled).toEqual([])
}, 30_000)
