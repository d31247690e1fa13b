import { expect, test } from 'vitest'
import type { DnsFacts } from './dns-facts.ts'
import { NO_DNS } from './outcome.ts'
import { judgeParked, type Parked } from './parked.ts'

const LISTS = {
  names: { has: (name: string) => name.endsWith('parking.test') },
  addresses: { has: (address: Uint8Array) => address[0] === 192 },
}
const resolving: DnsFacts = { ...NO_DNS, resolves: true }
const OWN_MAIL = { mx: [{ preference: 10, exchange: 'mx.firm.test' }] }
const THEIR_MAIL = { mx: [{ preference: 10, exchange: 'mx.parking.test' }] }
const THEIR_SERVERS = {
  delegation: { state: 'ok', nameServers: ['ns1.parking.test'], checks: [] },
} as const

test.each<[string, Partial<DnsFacts>, boolean | null, Parked]>([
  ['nothing of a parking service', {}, null, { parked: false, signs: [] }],
  ['its name servers', THEIR_SERVERS, null, { parked: true, signs: ['name_servers'] }],
  [
    'its name servers, and mail elsewhere',
    { ...THEIR_SERVERS, ...OWN_MAIL },
    null,
    { parked: false, signs: ['name_servers', 'takes_mail'] },
  ],
  [
    'its name servers and mail hosts',
    { ...THEIR_SERVERS, ...THEIR_MAIL },
    null,
    { parked: true, signs: ['name_servers'] },
  ],
  ['its address', { addresses: ['192.0.2.1'] }, null, { parked: true, signs: ['address'] }],
  ['another address', { addresses: ['198.51.100.1'] }, null, { parked: false, signs: [] }],
  [
    'an alias of its host, and mail elsewhere',
    { cname: 'www.parking.test', ...OWN_MAIL },
    null,
    { parked: true, signs: ['cname', 'takes_mail'] },
  ],
  ['an alias of another host', { cname: 'www.firm.test' }, null, { parked: false, signs: [] }],
  [
    'a page that says so, and mail elsewhere',
    OWN_MAIL,
    true,
    { parked: true, signs: ['page', 'takes_mail'] },
  ],
  ['a wildcard alone', { wildcard: true }, false, { parked: false, signs: ['wildcard'] }],
  ['no reply of the DNS', { resolves: null }, null, { parked: null, signs: [] }],
  [
    'name servers alone known, of another',
    { resolves: null, delegation: { state: 'broken', nameServers: ['ns.firm.test'], checks: [] } },
    null,
    { parked: false, signs: [] },
  ],
])('a domain with %s is judged by it', (_, facts, pageSaysSo, expected) => {
  expect(judgeParked({ ...resolving, ...facts }, LISTS, pageSaysSo)).toEqual(expected)
})
