import { expect, test } from 'vitest'
import type { Resolver } from '../net/resolver.ts'
import { parseAddress } from './address.ts'
import { askDnsLists, type DnsFindings, reversedName } from './dns-lists.ts'

const SETTINGS = { torDnsel: true, blockZones: ['zen.example'] }

async function ask(
  text: string,
  zones: Readonly<Record<string, string[] | 'failed'>>,
): Promise<DnsFindings> {
  const resolver: Resolver = {
    async resolve(name) {
      const found = zones[name]
      if (found === 'failed') return { kind: 'failed', reason: 'timeout' }
      if (found === undefined) return { kind: 'nxdomain', ttlSeconds: 1 }
      return { kind: 'records', records: found as never[], ttlSeconds: 1 }
    },
    ask: async () => ({ kind: 'failed', reason: 'refused' }),
  }
  const address = parseAddress(text) ?? new Uint8Array(4)
  return askDnsLists(resolver, SETTINGS, address, new AbortController().signal)
}

test('an address stands in a zone with its parts reversed', () => {
  const name = (text: string): string =>
    reversedName(parseAddress(text) ?? new Uint8Array(4), 'z.example')
  expect(name('1.2.3.4')).toBe('4.3.2.1.z.example')
  expect(name('2001:db8::1')).toBe(`1.${'0.'.repeat(23)}8.b.d.0.1.0.0.2.z.example`)
})

test('an exit and a listing are told with their source', async () => {
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

test('no answer tells nothing, no such name tells no', async () => {
  expect((await ask('1.2.3.4', { '4.3.2.1.dnsel.torproject.org': 'failed' })).isTor).toBeNull()
  expect((await ask('1.2.3.4', {})).isTor).toBe(false)
  expect((await ask('2001:db8::1', {})).isTor).toBeNull()
})
