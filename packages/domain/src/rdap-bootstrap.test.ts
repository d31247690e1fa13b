import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createEgress } from '@plumbline/net/egress'
import type { Egress } from '@plumbline/net/egress'
import { fetchBounded } from '@plumbline/net/http'
import { createResolver } from '@plumbline/net/resolver'
import { createRdapBootstrap } from './rdap-bootstrap.ts'
import type { RdapBootstrap } from './rdap-bootstrap.ts'
import { RDAP_LIST_FILE, parseRdapList, readPackagedRdapList } from '@plumbline/datasets/rdap-list'
import { updateRdapList } from '@plumbline/datasets/rdap-update'

const SIGNAL = new AbortController().signal
const egress = createEgress({ allow: ['127.0.0.0/8'] })
const net = { egress, resolver: createResolver({ servers: ['127.0.0.1:9'], egress }) }

/** A list with this number of zones, all at one server. */
function listText(publication: string, server: string, zones = 700): string {
  const names = Array.from({ length: zones }, (_, at) => `zone${at}`)
  return JSON.stringify({ version: '1.0', publication, services: [[names, [server]]] })
}

interface Site {
  readonly url: string
  answer: { status: number; body: string }
}

async function startSite(body: string): Promise<Site> {
  const site = { url: '', answer: { status: 200, body } }
  const server = createServer((_, res) => res.writeHead(site.answer.status).end(site.answer.body))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  site.url = `http://127.0.0.1:${port}/dns.json`
  return site
}

async function folder(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'rdap-list-'))
  onTestFinished(() => rm(dir, { recursive: true }))
  return dir
}

function update(dir: string, url: string): ReturnType<typeof updateRdapList> {
  const quiet = (): void => undefined
  return updateRdapList({
    dir,
    url,
    fetch: (request) => fetchBounded({ ...request, ...net }),
    log: { info: quiet, warn: quiet },
    signal: SIGNAL,
  })
}

async function serverOf(bootstrap: RdapBootstrap, name: string): Promise<string | undefined> {
  return (await bootstrap.baseOf(name, SIGNAL))?.url
}

test('the packaged list is a complete, dated publication of IANA, with a server for each zone', () => {
  const { publication, zones } = readPackagedRdapList()
  expect(publication).toBe('2026-09-30T23:00:03Z')
  expect(zones.size).toBe(1_203)
  expect(zones.get('com')).toBe('https://rdap.verisign.com/com/v1/')
  expect(zones.get('kg')).toBe('http://rdap.cctld.kg/')
  for (const url of zones.values()) expect(new URL(url).pathname).toMatch(/\/$/)
})

test('without a network the packaged list is used, with additions for zones that IANA does not list', async () => {
  const bootstrap = createRdapBootstrap({
    ...net,
    url: 'http://127.0.0.1:1/dns.json',
    clock: () => new Date(),
  })
  expect(await serverOf(bootstrap, 'example.org')).toMatch(/publicinterestregistry/)
  expect(await serverOf(bootstrap, 'example.de')).toBe('https://rdap.denic.de/')
  expect(await serverOf(bootstrap, 'example.nowhere')).toBeUndefined()
  expect(bootstrap.current.from).toBe('package')
})

test('a running engine uses an updated file, and keeps the previous list if the file is worse', async () => {
  const dir = await folder()
  const file = join(dir, RDAP_LIST_FILE)
  const site = await startSite(listText('2026-11-01T00:00:00Z', 'http://first.test'))
  let now = Date.parse('2026-11-02T00:00:00Z')
  const bootstrap = createRdapBootstrap({
    ...net,
    url: 'http://127.0.0.1:1/dns.json',
    file,
    clock: () => new Date(now),
  })
  expect(await serverOf(bootstrap, 'a.zone1')).toBeUndefined()
  expect(await update(dir, site.url)).toMatchObject({ status: 'updated', count: 700 })
  now += 60_000
  expect(await serverOf(bootstrap, 'a.zone1')).toBe('http://first.test/')
  expect(bootstrap.current).toEqual({ from: 'file', publication: '2026-11-01T00:00:00.000Z' })
  await writeFile(file, '{"services": [')
  now += 60_000
  expect(await serverOf(bootstrap, 'a.zone1')).toBe('http://first.test/')
})

test('a list is fetched once a day, and one that could not be read after 15 minutes', async () => {
  const site = await startSite(listText('2026-11-01T00:00:00Z', 'http://first.test'))
  let now = Date.parse('2026-11-09T00:00:00Z')
  let fetches = 0
  const counting: Egress = {
    ...egress,
    dial(request) {
      fetches += 1
      return egress.dial(request)
    },
  }
  const options = { ...net, egress: counting, url: site.url, clock: () => new Date(now) }
  const bootstrap = createRdapBootstrap(options)
  const server = async (): Promise<string | undefined> => {
    const url = await serverOf(bootstrap, 'a.zone1')
    // A list that is not waited for is fetched by then.
    for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate)
    return url
  }
  site.answer = { ...site.answer, status: 500 }
  expect([await server(), fetches]).toEqual([undefined, 1])
  site.answer = { ...site.answer, status: 200 }
  now += 15 * 60_000 - 1
  expect([await server(), fetches]).toEqual([undefined, 1])
  now += 1
  expect([await server(), fetches]).toEqual(['http://first.test/', 2])
  now += 24 * 3_600_000 - 1
  expect([await server(), fetches]).toEqual(['http://first.test/', 2])
  now += 1
  expect([await server(), fetches]).toEqual(['http://first.test/', 3])
})

test('of the lists of the URL and the file the more recently published one is used', async () => {
  const dir = await folder()
  const site = await startSite(listText('2026-11-01T00:00:00Z', 'http://live.test'))
  const options = { ...net, url: site.url, clock: () => new Date('2026-11-09T00:00:00Z') }
  await writeFile(join(dir, 'older.json'), listText('2026-10-01T00:00:00Z', 'http://older.test'))
  const live = createRdapBootstrap({ ...options, file: join(dir, 'older.json') })
  await serverOf(live, 'a.zone1')
  await expect.poll(() => serverOf(live, 'a.zone1')).toBe('http://live.test/')
  await writeFile(join(dir, 'newer.json'), listText('2026-11-05T00:00:00Z', 'http://newer.test'))
  const filed = createRdapBootstrap({ ...options, file: join(dir, 'newer.json') })
  expect(await serverOf(filed, 'a.zone1')).toBe('http://newer.test/')
})

test('a list is read again in time, though the clock was set back by weeks', async () => {
  const file = join(await folder(), RDAP_LIST_FILE)
  const site = await startSite(listText('2026-11-01T00:00:00Z', 'http://first.test'))
  await writeFile(file, listText('2026-11-02T00:00:00Z', 'http://filed.test'))
  let now = Date.parse('2026-11-30T00:00:00Z')
  const options = { ...net, clock: () => new Date(now) }
  const live = createRdapBootstrap({ ...options, url: site.url })
  const filed = createRdapBootstrap({ ...options, url: 'http://127.0.0.1:1/dns.json', file })
  await expect.poll(() => serverOf(live, 'a.zone1')).toBe('http://first.test/')
  expect(await serverOf(filed, 'a.zone1')).toBe('http://filed.test/')
  now = Date.parse('2026-11-09T00:00:00Z')
  site.answer = { status: 200, body: listText('2026-11-08T00:00:00Z', 'http://next.test') }
  await writeFile(file, listText('2026-11-08T00:00:00Z', 'http://filed-next.test'))
  await expect.poll(() => serverOf(live, 'a.zone1')).toBe('http://next.test/')
  expect(await serverOf(filed, 'a.zone1')).toBe('http://filed-next.test/')
})

test('an update refuses a text that is no list, or one that is too short, shrunk or older, and keeps the file', async () => {
  const dir = await folder()
  const good = listText('2026-11-01T00:00:00Z', 'https://good.test', 1_400)
  const site = await startSite(good)
  expect(await update(dir, site.url)).toMatchObject({ status: 'updated', count: 1_400 })
  expect(await update(dir, site.url)).toMatchObject({ status: 'unchanged', count: 1_400 })
  for (const [body, detail] of [
    ['<html>', /RFC 9224/],
    [listText('2026-11-02T00:00:00Z', 'https://short.test', 10), /at least 700 zones, got 10/],
    [listText('2026-11-02T00:00:00Z', 'https://short.test', 650), /at least 700 zones, got 650/],
    [listText('2026-10-31T00:00:00Z', 'https://old.test', 1_400), /before 2026-11-01/],
  ] as const) {
    site.answer = { status: 200, body }
    const refused = await update(dir, site.url)
    expect(refused).toMatchObject({ status: 'refused', count: 1_400 })
    expect(refused.detail).toMatch(detail)
  }
  site.answer = { status: 500, body: good }
  expect(await update(dir, site.url)).toMatchObject({ status: 'failed' })
  expect(await readFile(join(dir, RDAP_LIST_FILE), 'utf8')).toBe(good)
})

test("half of IANA's list is refused; an operator's list of one zone is accepted", async () => {
  const body = new TextEncoder().encode(listText('2026-11-01T00:00:00Z', 'https://a.test', 500))
  const quiet = (): void => undefined
  const updates = ['https://data.iana.org/rdap/dns.json', 'https://own.test/dns.json'].map(
    async (url) =>
      updateRdapList({
        dir: await folder(),
        url,
        fetch: async () => ({
          kind: 'response',
          status: 200,
          headers: {},
          body,
          cut: false,
          url,
          redirects: 0,
        }),
        log: { info: quiet, warn: quiet },
        signal: SIGNAL,
      }),
  )
  expect(await Promise.all(updates)).toMatchObject([
    { status: 'refused', detail: 'expected at least 600 zones, got 500' },
    { status: 'updated', count: 500 },
  ])
})

test('a list is read in every form of RFC 9224, and a malformed row affects no other', () => {
  const text = JSON.stringify({
    services: [
      [
        ['COM.', '.net'],
        ['http://a.test', 'https://b.test/x'],
      ],
      [['org'], ['gopher://c.test/']],
      [['biz'], ['https://']],
      [['info', 7], ['https://d.test/']],
      'nonsense',
      [null, null],
    ],
  })
  expect(Object.fromEntries(parseRdapList(text)?.zones ?? [])).toEqual({
    com: 'https://b.test/x/',
    net: 'https://b.test/x/',
    info: 'https://d.test/',
  })
  for (const none of ['', 'null', '[]', '{"services":{}}', '{"services":[]}']) {
    expect(parseRdapList(none)).toBeNull()
  }
})
