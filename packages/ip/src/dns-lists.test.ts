import { expect, test } from 'vitest'
import type { Resolver } from '@plumbline/net/resolver'
import { parseAddress } from '@plumbline/net/address-bytes'
import { askDnsLists, type DnsListResults, dnsListsIn } from './dns-lists.ts'
import { createIpEngine } from './engine.ts'

const SETTINGS = { torDnsel: true, blockZones: ['zen.example'] }

type Zones = Readonly<Record<string, string[] | 'failed'>>

function resolverOf(zones: Zones, asked: string[] = []): Resolver {
  return {
    async resolve(name) {
      asked.push(name)
      const found = zones[name]
      if (found === 'failed') return { kind: 'failed', reason: 'timeout' }
      if (found === undefined) return { kind: 'nxdomain', ttlSeconds: 1 }
      return { kind: 'records', records: found as never[], ttlSeconds: 1 }
    },
    ask: async () => ({ kind: 'failed', reason: 'refused' }),
  }
}

async function ask(text: string, zones: Zones): Promise<DnsListResults> {
  const address = parseAddress(text) ?? new Uint8Array(4)
  return askDnsLists(resolverOf(zones), SETTINGS, address, new AbortController().signal)
}

test('an exit and a listing are reported with their source', async () => {
  const found = await ask('1.2.3.4', {
    '4.3.2.1.dnsel.torproject.org': ['127.0.0.2'],
    '4.3.2.1.zen.example': ['127.0.0.4', '127.0.0.10'],
  })
  expect(found).toMatchObject({
    isTor: true,
    signals: [
      { code: 'tor', source: 'dnsel.torproject.org' },
      { code: 'dnsbl', value: ['127.0.0.4'], source: 'zen.example' },
    ],
  })
})

test.each([
  ['127.255.255.254'],
  ['127.255.255.255'],
  ['127.0.0.10'],
  ['127.0.0.11'],
  ['93.184.216.34'],
])('%s is no listing', async (code) => {
  expect((await ask('1.2.3.4', { '4.3.2.1.zen.example': [code] })).signals).toEqual([])
})

test('no reply gives null, and a name that does not exist gives false', async () => {
  expect((await ask('1.2.3.4', { '4.3.2.1.dnsel.torproject.org': 'failed' })).isTor).toBeNull()
  expect((await ask('1.2.3.4', {})).isTor).toBe(false)
  expect((await ask('2001:db8::1', {})).isTor).toBeNull()
})

test('a list that did not reply is named in the evidence', async () => {
  const found = await ask('1.2.3.4', { '4.3.2.1.zen.example': 'failed' })
  expect(found).toMatchObject({
    signals: [],
    evidence: [{ list: 'zen.example', unanswered: 'dns_failed' }],
  })
})

test('Tor is asked about no address unless its list is configured', async () => {
  const asked: string[] = []
  const settings = { torDnsel: false, blockZones: [] }
  const address = parseAddress('1.2.3.4') ?? new Uint8Array(4)
  const { signal } = new AbortController()
  const found = await askDnsLists(resolverOf({}, asked), settings, address, signal)
  expect([found.isTor, asked]).toEqual([null, []])
})

test('an engine queries the configured zones, and never about private or allowed addresses', async () => {
  const asked: string[] = []
  const zones = {
    '4.3.2.5.dnsel.torproject.org': ['127.0.0.2'],
    '5.3.2.5.zen.example': ['127.0.0.4'],
  }
  await using engine = await createIpEngine({
    cityDb: '',
    asnDb: '',
    listsDir: null,
    dnsLists: {
      ...dnsListsIn(['zen.example.', 'DNSEL.torproject.org']),
      resolver: resolverOf(zones, asked),
    },
    log: { debug() {}, info() {}, warn() {}, error() {} },
    refreshMs: 0,
  })
  const subjects = ['5.2.3.4', '5.2.3.5', '10.0.0.1', '8.8.8.8', '2002:502:304::1']
  const answers = await engine.run({
    subjects,
    depth: 'basic',
    lane: 'bulk',
    account: 't',
    signal: new AbortController().signal,
  })
  expect(answers).toMatchObject([
    { facts: { ip: '5.2.3.4', isTor: true, signals: [{ code: 'tor' }] } },
    { facts: { ip: '5.2.3.5', isTor: false, signals: [{ code: 'dnsbl' }] } },
    { facts: { ip: '10.0.0.1', valid: false } },
    { facts: { ip: '8.8.8.8', signals: [] } },
    // Judged by the IPv4 address inside.
    { facts: { isTor: true } },
  ])
  const told = asked.map((name) => name.split('.').slice(0, 4).toReversed().join('.'))
  expect(new Set(told)).toEqual(new Set(['5.2.3.4', '5.2.3.5']))
})
