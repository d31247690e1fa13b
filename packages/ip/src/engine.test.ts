import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { loadIpData } from './data.ts'
import { createIpEngine } from './engine.ts'
import { lookupIp } from './lookup.ts'
import { buildMmdb, hostileSizes, type Writable } from '@plumbline/datasets/mmdb-fixture'

const OSLO = {
  country: { iso_code: 'NO', names: { en: 'Norway' } },
  city: { names: { en: 'Oslo' } },
  location: { latitude: 59.9, longitude: 10.7 },
}

async function folder(files: Readonly<Record<string, string | Buffer>>): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'ip-'))
  onTestFinished(() => rm(dir, { recursive: true }))
  for (const [name, content] of Object.entries(files)) await writeFile(join(dir, name), content)
  return dir
}

async function dataOf(
  lists: Readonly<Record<string, string>>,
  records: Readonly<Record<string, Writable>> = { '5.0.0.0/8': OSLO, '2a00::/16': OSLO },
): Promise<Awaited<ReturnType<typeof loadIpData>>> {
  const dir = await folder({ ...lists, 'city.mmdb': buildMmdb(records) })
  const cityDb = join(dir, 'city.mmdb')
  return loadIpData({ cityDb, asnDb: cityDb, listsDir: dir })
}

test('a located address has its place, and the time zone of its coordinates', async () => {
  const { current } = await dataOf({})
  expect(lookupIp(current, '5.1.2.3')).toMatchObject({
    reason: 'located',
    facts: {
      ip: '5.1.2.3',
      valid: true,
      country: 'Norway',
      countryCode: 'NO',
      city: 'Oslo',
      timezone: 'Europe/Oslo',
      signals: [],
    },
    evidence: {
      timezone_from: 'coordinates',
      databases: [{ date: '2026-05-28' }],
      unknown_flags: ['vpn', 'proxy', 'tor', 'relay'],
    },
  })
})

test('the centre of a country gives no time zone', async () => {
  const { city: _, ...country } = OSLO
  const { current } = await dataOf({}, { '5.0.0.0/8': country })
  expect(lookupIp(current, '5.1.2.3').facts.timezone).toBeNull()
  const region = await dataOf({}, { '5.0.0.0/8': { ...country, state1: 'Oslo' } })
  expect(lookupIp(region.current, '5.1.2.3').facts.timezone).toBe('Europe/Oslo')
})

test('an IPv6 address with an embedded IPv4 address is looked up as the latter', async () => {
  const { current } = await dataOf({})
  for (const text of ['::ffff:5.1.2.3', '2002:501:203::1', '64:ff9b::5.1.2.3']) {
    expect(lookupIp(current, text)).toMatchObject({
      facts: { ip: text, valid: true, city: 'Oslo' },
      evidence: { carried_ipv4: '5.1.2.3' },
    })
  }
})

test('an address that is not routed is invalid and has no other flag', async () => {
  const { current } = await dataOf({ 'vpn.txt': '10.0.0.0/8\n' })
  expect(lookupIp(current, '10.0.0.1')).toMatchObject({
    reason: 'not_routable',
    facts: { valid: false, isVpn: false, signals: [{ group: 'ip.anonymity', code: 'bogon' }] },
  })
})

test('a VPN exit in a data centre is both, if one database knows the network and the next the VPN', async () => {
  const dir = await folder({
    'city.mmdb': buildMmdb({ '5.0.0.0/8': { ...OSLO, traits: { user_type: 'hosting' } } }),
    'anonymous.mmdb': buildMmdb({ '5.1.0.0/16': { is_anonymous: true, is_anonymous_vpn: true } }),
  })
  const cityDb = ['city.mmdb', 'anonymous.mmdb'].map((name) => join(dir, name)).join(',')
  const { current } = await loadIpData({ cityDb, asnDb: '', listsDir: null })
  expect(lookupIp(current, '5.1.2.3').facts).toMatchObject({
    city: 'Oslo',
    isVpn: true,
    isProxy: false,
    isDatacenter: true,
  })
})

const CENTRE_OF_US = {
  country: { iso_code: 'US', names: { en: 'United States' } },
  location: { latitude: 37.751, longitude: -97.822, time_zone: 'America/Chicago' },
}
const NEW_YORK = {
  country_code: 'US',
  state1: 'New York',
  city: 'Buffalo',
  latitude: 42.89,
  longitude: -78.88,
}

test.each([
  [
    'knows the city gives its coordinates and time zone with it',
    NEW_YORK,
    { region: 'New York', city: 'Buffalo', latitude: 42.89, timezone: 'America/New_York' },
  ],
  [
    'has a city of another country gives nothing of it',
    { ...NEW_YORK, country_code: 'CA', state1: 'Ontario', city: 'Fort Erie' },
    { region: null, city: null, latitude: 37.751, timezone: 'America/Chicago' },
  ],
])('behind a database that knows the country alone, one that %s', async (_, second, expected) => {
  const dir = await folder({
    'first.mmdb': buildMmdb({ '5.0.0.0/8': CENTRE_OF_US }),
    'second.mmdb': buildMmdb({ '5.0.0.0/8': second }),
  })
  const cityDb = ['first.mmdb', 'second.mmdb'].map((name) => join(dir, name)).join(',')
  const { current } = await loadIpData({ cityDb, asnDb: '', listsDir: null })
  expect(lookupIp(current, '5.1.2.3').facts).toMatchObject({
    country: 'United States',
    countryCode: 'US',
    ...expected,
  })
})

test('each flag names its list and the age of the list', async () => {
  const header = '# source: https://lists.example/vpn\n# licence: MIT\n# date: 2026-11-01\n'
  const { current } = await dataOf({ 'vpn.example.txt': `${header}5.1.0.0/16\n` })
  expect(lookupIp(current, '5.1.2.3')).toMatchObject({
    facts: { isVpn: true, isTor: null, signals: [{ code: 'vpn', source: 'example' }] },
    evidence: {
      flags: [
        { flag: 'vpn', list: 'example', origin: 'https://lists.example/vpn', date: '2026-11-01' },
      ],
    },
  })
  expect(lookupIp(current, '5.2.2.3').facts).toMatchObject({ isVpn: false, signals: [] })
})

test('a private relay is neither VPN, proxy nor data centre', async () => {
  const block = '5.1.0.0/16\n'
  const { current } = await dataOf({
    'relay.txt': block,
    'vpn.txt': block,
    'proxy.txt': block,
    'datacenter.txt': block,
  })
  expect(lookupIp(current, '5.1.2.3').facts).toMatchObject({
    isRelay: true,
    isVpn: false,
    isProxy: false,
    isDatacenter: false,
    signals: [{ code: 'private_relay' }],
  })
})

test('the allow-list of the operator clears every flag', async () => {
  const block = '5.1.0.0/16\n'
  const { current } = await dataOf({
    'allow.own.txt': '5.1.2.3\n',
    'tor.txt': block,
    'threat.txt': '5.1.0.0/16\t9\n',
  })
  expect(lookupIp(current, '5.1.2.3').facts).toMatchObject({ isTor: false, signals: [] })
  expect(lookupIp(current, '5.1.2.4').facts.signals).toMatchObject([
    { code: 'tor' },
    { code: 'hijacked' },
  ])
})

test('threat levels are the codes of the weights table', async () => {
  const { current } = await dataOf({
    'threat.txt': '5.1.0.1\t1\n5.1.0.3 3\n5.1.0.6\t6\n5.1.0.8\t8\n5.1.0.9\t9\n',
  })
  const codes = ['5.1.0.1', '5.1.0.3', '5.1.0.6', '5.1.0.8', '5.1.0.9'].map(
    (text) => lookupIp(current, text).facts.signals[0]?.code,
  )
  expect(codes).toEqual(['listed', 'listed_3', 'listed_6', 'listed_6', 'hijacked'])
})

test('changed databases and lists are reloaded, and a broken file does not replace the old data', async () => {
  const store = await dataOf({ 'vpn.txt': '9.9.9.9\n' })
  const path = store.current.databases[0]?.path ?? ''
  const replace = async (content: Buffer): Promise<void> => {
    await writeFile(`${path}.part`, content)
    await rename(`${path}.part`, path)
    await store.refresh()
  }
  await replace(buildMmdb({ '5.0.0.0/8': { ...OSLO, city: { names: { en: 'Bergen' } } } }))
  expect(lookupIp(store.current, '5.1.2.3').facts.city).toBe('Bergen')
  await replace(Buffer.from('no database at all'))
  expect(lookupIp(store.current, '5.1.2.3').facts.city).toBe('Bergen')
  expect(store.health()).toContainEqual(
    expect.objectContaining({
      status: 'degraded',
      detail: expect.stringContaining('the state before is kept'),
    }),
  )
  await writeFile(join(path, '..', 'vpn.txt'), '5.1.2.3\n')
  await store.refresh()
  expect(lookupIp(store.current, '5.1.2.3').facts.isVpn).toBe(true)
})

test('however a database is broken, the old one is used and health reports it', async () => {
  const store = await dataOf({})
  const path = store.current.databases[0]?.path ?? ''
  const whole = await readFile(path)
  const cuts = Array.from({ length: 40 }, (_, at) =>
    whole.subarray(0, Math.floor((whole.length * at) / 40)),
  )
  for (const broken of [...cuts, ...hostileSizes(whole), Buffer.alloc(whole.length)]) {
    await writeFile(`${path}.part`, broken)
    await rename(`${path}.part`, path)
    await store.refresh()
    expect(lookupIp(store.current, '5.1.2.3').facts.city).toBe('Oslo')
    expect(store.health().map(({ status }) => status)).toContain('degraded')
  }
  await writeFile(path, whole)
  await store.refresh()
  expect(store.health().map(({ status }) => status)).not.toContain('degraded')
})

test('a broken configured database prevents the start, with an error that names it', async () => {
  const dir = await folder({ 'broken.mmdb': 'nothing' })
  const cityDb = join(dir, 'broken.mmdb')
  await expect(loadIpData({ cityDb, listsDir: null })).rejects.toThrow(cityDb)
})

test('answers are in the order of the subjects, and those of an aborted run are timeout', async () => {
  const dir = await folder({ 'city.mmdb': buildMmdb({ '5.0.0.0/8': OSLO }) })
  const cityDb = join(dir, 'city.mmdb')
  const log = { debug() {}, info() {}, warn() {}, error() {} }
  await using engine = await createIpEngine({
    cityDb,
    asnDb: cityDb,
    listsDir: null,
    log,
  })
  const subjects = ['5.1.2.3', '10.0.0.1', '6.6.6.6']
  const request = { subjects, depth: 'basic', lane: 'bulk', account: 't' } as const
  const heard: number[] = []
  const answers = await engine.run({
    ...request,
    signal: new AbortController().signal,
    answered: (index) => heard.push(index),
  })
  expect(answers.map((answer) => answer.reason)).toEqual(['located', 'not_routable', 'no_data'])
  expect(heard).toEqual([0, 1, 2])
  const ended = await engine.run({ ...request, signal: AbortSignal.abort() })
  expect(ended.map((answer) => answer.reason)).toEqual(['timeout', 'timeout', 'timeout'])
})
