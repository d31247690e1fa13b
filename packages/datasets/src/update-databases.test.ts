import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, onTestFinished, test } from 'vitest'
import { mirrorAt } from './sources.ts'
import type { SourceUpdate } from './update.ts'
import { readVersions } from './versions.ts'
import { createEgress } from '@plumbline/net/egress'
import { fetchBounded } from '@plumbline/net/http'
import { createResolver } from '@plumbline/net/resolver'
import { parseAddress } from '@plumbline/net/address-bytes'
import { loadIpData } from '@plumbline/ip/data'
import { buildMmdb, type Writable } from './mmdb-fixture.ts'
import {
  DATABASE_SOURCES,
  type DatabaseSource,
  UPDATED_FILES,
  updateDatabases,
} from './update-databases.ts'

// Over real HTTP on loopback, from a mirror of the publisher.

const NOVEMBER = new Date('2026-11-20T12:00:00Z')
const DECEMBER = new Date('2026-12-02T12:00:00Z')
const CITY = '/download.db-ip.com/free/dbip-city-lite'
const ASN = '/download.db-ip.com/free/dbip-asn-lite'

/** The real sources, except for the minimum size: a test's files are small. */
const SOURCES: readonly DatabaseSource[] = DATABASE_SOURCES.map((source) => ({
  ...source,
  leastBytes: 500,
  maxGzipBytes: 20_000,
  maxBytes: 40_000,
}))

const RESOLVERS = ['1.1.1.0/24', '8.8.8.0/24', '9.9.9.0/24', '208.67.222.0/24', '2001:4860::/32']

/** A city database with all well-known addresses in one city. */
function cityFile(city: string, more: { resolvers?: number; buildEpoch?: number } = {}): Buffer {
  const record = { country: { iso_code: 'CH' }, city: { names: { en: city } } }
  return mmdbOf(record, more)
}

function mmdbOf(
  record: Writable,
  { resolvers = 5, ...layout }: { resolvers?: number; buildEpoch?: number } = {},
): Buffer {
  const known = RESOLVERS.slice(0, resolvers).map((block) => [block, record] as const)
  const others = Array.from({ length: 10 }, (_, at) => [`12.${at}.0.0/16`, record] as const)
  return buildMmdb(Object.fromEntries([...known, ...others]), layout)
}

interface Mirror extends AsyncDisposable {
  readonly files: Map<string, Buffer>
  readonly fetched: readonly string[]
  readonly dir: string
  update(now?: Date): Promise<readonly SourceUpdate[]>
}

async function openMirror(): Promise<Mirror> {
  const files = new Map<string, Buffer>()
  const fetched: string[] = []
  const server = createServer(({ url = '' }, response) => {
    const file = files.get(url)
    if (file === undefined) {
      response.writeHead(404).end('not here')
      return
    }
    fetched.push(url)
    response.writeHead(200).end(file)
  })
  const mirrored = mirrorAt(`http://127.0.0.1:${await listening(server)}`)
  const egress = createEgress({ allow: ['127.0.0.0/8'] })
  const resolver = createResolver({ servers: ['127.0.0.1:9'], egress })
  const dir = await mkdtemp(join(tmpdir(), 'databases-'))
  onTestFinished(() => rm(dir, { recursive: true }))
  return {
    files,
    fetched,
    dir,
    update: (now = NOVEMBER) =>
      updateDatabases({
        dir,
        sources: SOURCES,
        fetch: (request) =>
          fetchBounded({ ...request, url: mirrored(request.url), egress, resolver }),
        log: { info() {}, warn() {} },
        signal: new AbortController().signal,
        now: () => now,
      }),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((closed) => server.close(closed))
    },
  }
}

async function listening(server: Server): Promise<number> {
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  // Safe because the server listens on TCP.
  return (server.address() as AddressInfo).port
}

async function cityOf(dir: string, text: string): Promise<string | null | undefined> {
  const store = await loadIpData({ listsDir: dir, asnDb: '' })
  const address = parseAddress(text)
  return address === null ? null : store.current.databases[0]?.find(address)?.city
}

test("this month's files are put in place, and lookups read them instead of the packaged ones", async () => {
  await using mirror = await openMirror()
  mirror.files.set(`${CITY}-2026-11.mmdb.gz`, gzipSync(cityFile('Bern')))
  const network = { autonomous_system_number: 64_500, autonomous_system_organization: 'Net' }
  mirror.files.set(`${ASN}-2026-11.mmdb.gz`, gzipSync(mmdbOf(network)))
  expect(await mirror.update()).toMatchObject([
    { file: UPDATED_FILES.city, status: 'updated', count: 15 },
    { file: UPDATED_FILES.asn, status: 'updated', count: 15 },
  ])
  expect((await readdir(mirror.dir)).toSorted()).toEqual([
    UPDATED_FILES.asn,
    UPDATED_FILES.city,
    'versions.json',
  ])
  expect(await readVersions(mirror.dir)).toMatchObject({
    [UPDATED_FILES.city]: { date: '2026-05-28', count: 15 },
  })
  const store = await loadIpData({ listsDir: mirror.dir })
  expect(store.current.databases.map(({ path }) => path)).toEqual([
    join(mirror.dir, UPDATED_FILES.city),
    join(mirror.dir, UPDATED_FILES.asn),
  ])
  expect(store.current.asnTable).toBeNull()
  expect(store.health().map(({ name }) => name)).toEqual(['ip lists'])
})

test("last month's file is used until this month's is published, and no file is fetched twice", async () => {
  await using mirror = await openMirror()
  mirror.files.set(`${CITY}-2026-11.mmdb.gz`, gzipSync(cityFile('Bern')))
  expect(await mirror.update(DECEMBER)).toMatchObject([
    { status: 'updated' },
    { file: UPDATED_FILES.asn, status: 'failed' },
  ])
  expect(await mirror.update(DECEMBER)).toMatchObject([{ status: 'unchanged' }, {}])
  const later = cityFile('Basel', { buildEpoch: 1_790_000_000 })
  mirror.files.set(`${CITY}-2026-12.mmdb.gz`, gzipSync(later))
  expect(await mirror.update(DECEMBER)).toMatchObject([{ status: 'updated' }, {}])
  expect(await cityOf(mirror.dir, '1.1.1.1')).toBe('Basel')
  expect(mirror.fetched).toEqual([`${CITY}-2026-11.mmdb.gz`, `${CITY}-2026-12.mmdb.gz`])
})

const GOOD = cityFile('Basel', { buildEpoch: 1_790_000_000 })

test.each([
  ['a page instead of a file', Buffer.from('<html>'.repeat(100))],
  ['a file cut short in the packing', gzipSync(GOOD).subarray(0, -100)],
  ['a file cut short before the packing', gzipSync(GOOD.subarray(0, -300))],
  ['a file of less than half the size', gzipSync(mmdbOf({ a: 1 }, { resolvers: 1 }))],
  [
    'a file that knows none of the well-known addresses',
    gzipSync(cityFile('Bern', { resolvers: 3 })),
  ],
  ['a database of another kind', gzipSync(mmdbOf({ note: 'x'.repeat(60) }))],
  ['a file older than the one in place', gzipSync(cityFile('Bern', { buildEpoch: 1_700_000_000 }))],
  ['a file that unpacks to more than any real one', gzipSync(Buffer.alloc(10_000_000))],
  ['more bytes than any real file has', Buffer.alloc(30_000, 1)],
])('%s leaves the file as it was', async (_title, bytes) => {
  await using mirror = await openMirror()
  mirror.files.set(`${CITY}-2026-11.mmdb.gz`, gzipSync(cityFile('Bern')))
  await mirror.update()
  const before = await readFile(join(mirror.dir, UPDATED_FILES.city))
  mirror.files.set(`${CITY}-2026-12.mmdb.gz`, bytes)
  const [update] = await mirror.update(DECEMBER)
  expect(update?.status).toMatch(/refused|failed/)
  expect(await readFile(join(mirror.dir, UPDATED_FILES.city))).toEqual(before)
  expect(await cityOf(mirror.dir, '1.1.1.1')).toBe('Bern')
})

test('a file that is damaged or missing on disk is fetched again', async () => {
  await using mirror = await openMirror()
  mirror.files.set(`${CITY}-2026-11.mmdb.gz`, gzipSync(cityFile('Bern')))
  await mirror.update()
  const path = join(mirror.dir, UPDATED_FILES.city)
  for (const harm of [() => writeFile(path, 'broken'), () => rm(path)]) {
    await harm()
    expect(await mirror.update()).toMatchObject([{ status: 'updated', count: 15 }, {}])
    expect(await mirror.update()).toMatchObject([{ status: 'unchanged' }, {}])
  }
})

test('a worker reads the packaged data if the updated file is damaged, and reports that', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'databases-'))
  onTestFinished(() => rm(dir, { recursive: true }))
  await writeFile(join(dir, UPDATED_FILES.city), GOOD.subarray(0, 400))
  const store = await loadIpData({ listsDir: dir, asnDb: '' })
  expect(store.current.databases.some(({ path }) => path.startsWith(dir))).toBe(false)
  expect(store.health()).toMatchObject([
    {},
    { name: 'ip data', status: 'degraded', detail: expect.stringContaining(UPDATED_FILES.city) },
  ])
  await writeFile(join(dir, UPDATED_FILES.city), GOOD)
  await store.refresh()
  expect(store.current.databases.map(({ path }) => path)).toEqual([join(dir, UPDATED_FILES.city)])
})
