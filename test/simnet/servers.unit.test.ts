import { createHmac } from 'node:crypto'
import { Resolver } from 'node:dns/promises'
import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { DNS_FAULTS } from './dns/faults.ts'
import { RDAP_FAULTS } from './registry/rdap-faults.ts'
import { WHOIS_FAULTS } from './registry/whois-faults.ts'
import { startSimnet } from './simnet.ts'
import type { Simnet } from './simnet.ts'

// Servers and processes start slowly on a machine that is busy with other tests.
vi.setConfig({ testTimeout: 30_000, hookTimeout: 30_000 })

let simnet: Simnet
let resolver: Resolver
beforeAll(async () => {
  simnet = await startSimnet({ seed: 7, bulkDomains: { count: 50_000 } })
  resolver = new Resolver({ timeout: 400, tries: 1 })
  resolver.setServers([simnet.settings['DNS_SERVERS'] ?? ''])
})
afterAll(async () => simnet[Symbol.asyncDispose]())

function named(kind: string): string {
  return [...simnet.world.domains.values()].find((domain) => domain.kind === kind)?.name ?? ''
}

async function rdap(url: string): Promise<Response> {
  const { hostname, port, pathname } = new URL(url)
  return fetch(`http://${simnet.world.addressOf(hostname)}:${port}${pathname}`, {
    redirect: 'manual',
  })
}

async function whois(server: string, query: string): Promise<string> {
  const socket = connect(
    Number(simnet.settings['WHOIS_PORT']),
    simnet.world.addressOf(server) ?? '',
  )
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk.toString('utf8')
  })
  socket.write(`${query}\r\n`)
  await once(socket, 'close')
  return text
}

test('DNS distinguishes MX, null MX, no MX, no such name, and failure', async () => {
  const gmail = await resolver.resolveMx('gmail.com')
  expect(gmail.map(({ exchange }) => exchange)).toContain('gmail-smtp-in.l.google.com')
  expect(await resolver.resolveMx(named('null-mx'))).toMatchObject([{ priority: 0, exchange: '' }])
  await expect(resolver.resolveMx(named('implicit-mx'))).rejects.toThrow('ENODATA')
  await expect(resolver.resolve4(named('no-mail'))).rejects.toThrow('ENODATA')
  await expect(resolver.resolveMx(named('unregistered'))).rejects.toThrow('ENOTFOUND')
  await expect(resolver.resolveMx('not-of-this-world.com')).rejects.toThrow('ENOTFOUND')
  await expect(resolver.resolveMx('dns-servfail.example')).rejects.toThrow('ESERVFAIL')
  await expect(resolver.resolveMx('dns-silent.example')).rejects.toThrow('ETIMEOUT')
})

test('DNS answers bulk names, policies, parked wildcards and long answers over TCP', async () => {
  expect(await resolver.resolveMx('d49999.example')).toMatchObject([
    { priority: 10, exchange: 'mx.d49999.example' },
  ])
  await expect(resolver.resolveMx('d50000.example')).rejects.toThrow('ENOTFOUND')
  expect(await resolver.resolveTxt('_dmarc.gmail.com')).toHaveLength(1)
  const parked = named('parked')
  expect(await resolver.resolve4(`any.name.${parked}`)).toEqual(await resolver.resolve4(parked))
  const patient = new Resolver({ timeout: 2000, tries: 2 })
  patient.setServers([simnet.settings['DNS_SERVERS'] ?? ''])
  expect((await patient.resolveTxt('dns-thousand-txt.example')).length).toBe(1000)
  expect(await patient.resolvePtr('1.0.0.127.in-addr.arpa')).toEqual(['verifier.simnet.example'])
})

test('RDAP is found through the bootstrap and distinguishes registered from free names', async () => {
  const bootstrap = await rdap(simnet.settings['RDAP_BOOTSTRAP_URL'] ?? '')
  const { services } = (await bootstrap.json()) as { services: [string[], string[]][] }
  const base = services.find(([zones]) => zones.includes('com'))?.[1][0] ?? ''
  const found = await rdap(`${base}domain/gmail.com`)
  const body = (await found.json()) as { events: { eventAction: string; eventDate: string }[] }
  const expected = simnet.world.expectDomain('gmail.com')
  expect(body.events.find(({ eventAction }) => eventAction === 'registration')?.eventDate).toBe(
    expected.createdDate,
  )
  expect((await rdap(`${base}domain/not-of-this-world.com`)).status).toBe(404)
  const org = services.find(([zones]) => zones.includes('org'))?.[1][0] ?? ''
  const redirect = await rdap(`${org}domain/x.org`)
  expect(redirect.status).toBe(302)
  expect((await rdap(redirect.headers.get('location') ?? '')).status).toBe(404)
})

test('a registry replies 429 with Retry-After beyond its rate limit, and counts it', async () => {
  const info = simnet.world.registries.find(({ tlds }) => tlds.includes('info'))?.rdap
  const port = new URL(simnet.settings['RDAP_BOOTSTRAP_URL'] ?? '').port
  const replies = await Promise.all(
    Array.from({ length: 8 }, (_, i) =>
      rdap(`http://${info?.host}:${port}/rdap/domain/x${i}.info`),
    ),
  )
  const refused = replies.filter(({ status }) => status === 429)
  expect(refused.length).toBe(3)
  expect(refused[0]?.headers.get('retry-after')).toBe('1')
  expect(simnet.counters.registries.get(info?.host ?? '')).toMatchObject({ queries: 8, refused: 3 })
})

test("WHOIS is found through the root and replies in its registry's format", async () => {
  expect(await whois('whois.iana.org', 'it')).toContain('whois:        whois.nic.it')
  for (const [zone, server, free] of [
    ['.it', 'whois.nic.it', 'AVAILABLE'],
    ['.de', 'whois.denic.de', 'Status: free'],
    ['.jp', 'whois.jprs.jp', 'No match!!'],
    ['.ru', 'whois.tcinet.ru', 'No entries found'],
  ] as const) {
    const name =
      [...simnet.world.domains.keys()].find(
        (known) => known.endsWith(zone) && simnet.world.expectDomain(known).registered,
      ) ?? ''
    expect((await whois(server, name)).toLowerCase()).toContain(name)
    expect(await whois(server, `not-of-this-world${zone}`)).toContain(free)
  }
})

test('hlr-lookups answers a signed request as expected, refuses a wrong signature, and counts purchases', async () => {
  const ask = async (number: string, secret: string): Promise<Response> => {
    const body = JSON.stringify({ msisdn: number })
    const timestamp = String(Math.floor(Date.now() / 1000))
    const signature = createHmac('sha256', secret)
      .update(`/hlr-lookup${timestamp}POST${body}`)
      .digest('hex')
    return fetch(`${simnet.settings['HLR_URL']}/hlr-lookup`, {
      method: 'POST',
      body,
      headers: {
        'content-type': 'application/json',
        'x-digest-key': simnet.settings['HLR_KEY'] ?? '',
        'x-digest-timestamp': timestamp,
        'x-digest-signature': signature,
      },
    })
  }
  const refused: number[] = []
  for (let i = 0; i < 100; i++) {
    const number = `+4915112345${String(i).padStart(3, '0')}`
    const expected = simnet.world.expectPhone(number)
    if (expected.throttledOnce) {
      refused.push((await ask(number, simnet.settings['HLR_SECRET'] ?? '')).status)
    }
    const body = (await (await ask(number, simnet.settings['HLR_SECRET'] ?? '')).json()) as Record<
      string,
      unknown
    >
    expect(body['connectivity_status'] === 'CONNECTED').toBe(expected.reachable === true)
    expect(body['ported_network_name'] ?? body['original_network_name']).toBe(expected.carrier)
    expect(simnet.counters.hlr.perNumber.get(number)).toEqual({ queries: 1, costMilli: 10 })
  }
  expect(new Set(refused)).toEqual(new Set([502]))
  expect((await ask('+4915112345000', 'wrong')).status).toBe(401)
})

test('a thin registry refers to the registrar for the facts', async () => {
  const name = 'maildrop.cc'
  const thin = await whois('whois.nic.cc', name)
  const server = /Registrar WHOIS Server: (\S+)/.exec(thin)?.[1] ?? ''
  expect(thin).not.toContain('Creation Date')
  const { createdDate } = simnet.world.expectDomain(name)
  expect(await whois(server, name)).toContain(`Creation Date: ${createdDate}`)
})

test('options add registries and bulk names for a benchmark', async () => {
  const zones = Array.from({ length: 50 }, (_, i) => `zone${i}`)
  await using many = await startSimnet({
    seed: 7,
    bulkDomains: { count: 20_000, suffixes: zones },
    registries: zones.map((zone) => ({
      name: zone,
      tlds: [zone],
      rdap: { host: `rdap.${zone}`, path: '/', perSecond: 5, burst: 5, delayMs: 80 },
    })),
  })
  const port = new URL(many.settings['RDAP_BOOTSTRAP_URL'] ?? '').port
  const name = many.world.bulk?.name(123) ?? ''
  expect(name).toBe('d123.zone23')
  const began = performance.now()
  const reply = await fetch(`http://${many.world.addressOf('rdap.zone23')}:${port}/domain/${name}`)
  expect(reply.status).toBe(200)
  expect(performance.now() - began).toBeGreaterThan(75)
})

test('there is a domain for every fault of a server', () => {
  const names = [
    ...DNS_FAULTS.map((fault) => `dns-${fault}.example`),
    ...Object.keys(RDAP_FAULTS).map((fault) => `name.rdap-${fault}`),
    ...Object.keys(WHOIS_FAULTS).map((fault) => `name.whois-${fault}`),
  ]
  expect(DNS_FAULTS.length).toBeGreaterThanOrEqual(25)
  expect(names.length - DNS_FAULTS.length).toBeGreaterThanOrEqual(30)
  expect(names.filter((name) => simnet.world.findDomain(name) === undefined)).toEqual([])
})
