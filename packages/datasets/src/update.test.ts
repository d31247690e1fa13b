import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { HttpAnswer } from '@plumbline/net/http'
import { readFormat } from './formats.ts'
import { loadRanges } from './load.ts'
import { mirrorAt, PUBLIC_SOURCES, type PublicSource } from './sources.ts'
import { type SourceUpdate, updateLists } from './update.ts'
import { readVersions } from './versions.ts'

const SOURCE: PublicSource = {
  list: 'vpn',
  name: 'example',
  urls: ['https://lists.example/v4.txt'],
  format: 'lines',
  licence: 'MIT',
  leastEntries: 3,
  maxBytes: 1_000,
}

const GOOD = '# comment\n1.2.3.0/24\n5.6.7.8\n2001:db8::/32\n9.9.0.0/16\n'

async function update(
  dir: string,
  text: string | HttpAnswer,
  source: PublicSource = SOURCE,
): Promise<SourceUpdate | undefined> {
  const answer: HttpAnswer = typeof text === 'string' ? response(200, text) : text
  const [result] = await updateLists({
    dir,
    sources: [source],
    fetch: async () => answer,
    log: { info() {}, warn() {} },
    signal: new AbortController().signal,
    now: () => new Date('2026-11-20T12:00:00Z'),
  })
  return result
}

function response(status: number, text: string): HttpAnswer {
  const headers = { 'last-modified': 'Thu, 19 Nov 2026 08:00:00 GMT' }
  return {
    kind: 'response',
    status,
    headers,
    body: Buffer.from(text),
    cut: false,
    url: '',
    redirects: 0,
  }
}

async function emptyFolder(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'update-'))
  onTestFinished(() => rm(dir, { recursive: true }))
  return dir
}

test('a fetched list is a file with source, licence and date, and no other file is left beside it', async () => {
  const dir = await emptyFolder()
  expect(await update(dir, GOOD)).toMatchObject({ status: 'updated', count: 4 })
  expect(await readFile(join(dir, 'vpn.example.txt'), 'utf8')).toMatch(
    /^# source: https:\/\/lists\.example\/v4\.txt\n# licence: MIT\n# date: 2026-11-19\n/,
  )
  expect((await readdir(dir)).toSorted()).toEqual(['versions.json', 'vpn.example.txt'])
  expect(await readVersions(dir)).toMatchObject({
    'vpn.example.txt': { count: 4, date: '2026-11-19' },
  })
  expect((await loadRanges(dir, 'vpn')).sources).toMatchObject([
    { name: 'example', date: '2026-11-19' },
  ])
})

test('the same list again changes nothing', async () => {
  const dir = await emptyFolder()
  await update(dir, GOOD)
  expect(await update(dir, `${GOOD}\n\n`)).toMatchObject({ status: 'unchanged', count: 4 })
})

test('a list whose file or version record is missing is written again', async () => {
  const dir = await emptyFolder()
  await update(dir, GOOD)
  await rm(join(dir, 'vpn.example.txt'))
  expect(await update(dir, GOOD)).toMatchObject({ status: 'updated', count: 4 })
  await writeFile(join(dir, 'versions.json'), '{"vpn.exam')
  expect(await update(dir, GOOD)).toMatchObject({ status: 'updated', count: 4 })
  expect(await update(dir, GOOD)).toMatchObject({ status: 'unchanged', count: 4 })
})

test('a list that is damaged on disk is written again, although its source has not changed', async () => {
  const dir = await emptyFolder()
  await update(dir, GOOD)
  const path = join(dir, 'vpn.example.txt')
  const whole = await readFile(path, 'utf8')
  for (const damaged of [whole.slice(0, -5), `${whole}no block\n`, '']) {
    await writeFile(path, damaged)
    expect(await update(dir, GOOD)).toMatchObject({ status: 'updated', count: 4 })
    expect(await readFile(path, 'utf8')).toBe(whole)
    expect(await update(dir, GOOD)).toMatchObject({ status: 'unchanged', count: 4 })
  }
})

test.each([
  ['too few entries', '1.2.3.4\n5.6.7.8\n', 'refused'],
  ['a page instead of a list', `<html>\n${'<p>blocked</p>\n'.repeat(9)}`, 'refused'],
  ['a block that holds everybody', `${GOOD}0.0.0.0/0\n`, 'refused'],
  ['a server error', response(500, ''), 'failed'],
  [
    'no answer',
    { kind: 'failed', reason: 'timeout', detail: '', url: '', sent: true } as const,
    'failed',
  ],
])('%s leaves the list as it was', async (_title, text, status) => {
  const dir = await emptyFolder()
  await update(dir, GOOD)
  const before = await readFile(join(dir, 'vpn.example.txt'), 'utf8')
  expect(await update(dir, text)).toMatchObject({ status, count: 4 })
  expect(await readFile(join(dir, 'vpn.example.txt'), 'utf8')).toBe(before)
})

test('a list that lost most of its entries is refused', async () => {
  const dir = await emptyFolder()
  const many = Array.from({ length: 100 }, (_, index) => `1.2.3.${index}`).join('\n')
  await update(dir, many)
  expect(await update(dir, GOOD)).toMatchObject({ status: 'refused', count: 100 })
})

test('a list with entries that workers could not read is refused', async () => {
  const dir = await emptyFolder()
  const threats: PublicSource = { ...SOURCE, list: 'threat' }
  // Blocks with a column that is no level, which a publisher may add.
  const named = GOOD.replaceAll(/(?<=\d)$/gm, '\tmalware')
  expect(await update(dir, named, threats)).toMatchObject({ status: 'refused' })
  expect(await update(dir, GOOD, threats)).toMatchObject({ status: 'updated', count: 4 })
  expect((await loadRanges(dir, 'threat')).sources[0]).toMatchObject({ count: 4 })
})

test('every format is read into entries', () => {
  expect(readFormat('geofeed', '# c\n1.2.3.0/24,US,US-CA,LA,\n2001:db8::/32,DE,,,\n')).toEqual([
    '1.2.3.0/24',
    '2001:db8::/32',
  ])
  const json = {
    prefixes: [{ ip_prefix: '3.5.140.0/22', region: 'x' }, { ipv4Prefix: '34.1.0.0/20' }],
    ipv6_prefixes: [{ ipv6_prefix: '2600:1f00::/24' }],
    regions: [{ cidrs: [{ cidr: '129.146.0.0/21', tags: ['OCI'] }] }],
  }
  expect(readFormat('json-prefixes', JSON.stringify(json))).toEqual([
    '3.5.140.0/22',
    '34.1.0.0/20',
    '2600:1f00::/24',
    '129.146.0.0/21',
  ])
  expect(readFormat('misp', '{"list": ["above.com", "bodis.com"], "name": "x"}')).toEqual([
    'above.com',
    'bodis.com',
  ])
  const drop = '{"cidr":"1.10.16.0/20","sblid":"SBL1"}\n{"type":"metadata","timestamp":1}\n'
  expect(readFormat('drop', drop)).toEqual(['1.10.16.0/20\t9'])
  expect(readFormat('asndrop', '{"asn":64500,"cc":"XX"}\n{"type":"metadata"}\n')).toEqual([
    'AS64500',
  ])
  const named = '{"asn":64501,"asname":"PIER #9","cc":"XX"}\n'
  expect(readFormat('asndrop', named)).toEqual(['AS64501'])
  expect(readFormat('ipsum', '# x\n1.1.1.9\t12\n2.2.2.2\t3\n3.3.3.3\t2\n')).toEqual([
    '1.1.1.9\t8',
    '2.2.2.2\t3',
  ])
})

test('the public sources have unique names and https addresses', () => {
  const files = PUBLIC_SOURCES.map(({ list, name }) => `${list}.${name}`)
  expect(new Set(files).size).toBe(files.length)
  for (const { urls } of PUBLIC_SOURCES) for (const url of urls) expect(url).toMatch(/^https:\/\//)
})

test('a mirror has every public address below its own', () => {
  const mirrored = mirrorAt('http://mirror.example/feeds/')
  expect(mirrored('https://lists.example/v4.txt')).toBe(
    'http://mirror.example/feeds/lists.example/v4.txt',
  )
  expect(mirrored('http://own.example/rdap.json')).toBe('http://own.example/rdap.json')
})

test('a list with a new address for each edition is found on its page', async () => {
  const dir = await emptyFolder()
  const edition = 'https://lists.example/download/7/ServiceTags_Public_20261116.json'
  const tags = [
    { name: 'AzureFrontDoor', properties: { addressPrefixes: ['13.107.246.0/24'] } },
    { name: 'AzureCloud', properties: { addressPrefixes: ['20.0.0.0/11', '40.64.0.0/10'] } },
  ]
  const bodies = new Map([
    ['https://lists.example/page', `<p><a href="${edition}">Download</a>`],
    [edition, JSON.stringify({ values: tags })],
  ])
  const source: PublicSource = {
    ...SOURCE,
    list: 'datacenter',
    name: 'cloud',
    urls: ['https://lists.example/page'],
    link: /https:\/\/lists\.example\/download\/[\w/-]+\/ServiceTags_Public_\d{8}\.json/,
    format: 'azure-tags',
    leastEntries: 2,
  }
  const updateFrom = (): Promise<readonly SourceUpdate[]> =>
    updateLists({
      dir,
      sources: [source],
      fetch: async ({ url }) => response(bodies.has(url) ? 200 : 404, bodies.get(url) ?? ''),
      log: { info() {}, warn() {} },
      signal: new AbortController().signal,
    })
  expect(await updateFrom()).toMatchObject([{ status: 'updated', count: 2 }])
  expect(await readFile(join(dir, 'datacenter.cloud.txt'), 'utf8')).toMatch(
    /\n20\.0\.0\.0\/11\n40\.64\.0\.0\/10\n$/,
  )
  bodies.set('https://lists.example/page', '<p>Moved')
  expect(await updateFrom()).toMatchObject([{ status: 'failed', count: 2 }])
})

test('the link to the edition of Azure is found on its page', () => {
  const azure = PUBLIC_SOURCES.find(({ name }) => name === 'azure')
  const link =
    'https://download.microsoft.com/download/7/1/d/71d86715-5596-4529-9b13-da13a5de5b63/ServiceTags_Public_20261116.json'
  expect(azure?.link?.exec(`"url":"${link}","size":"4 MB"`)?.[0]).toBe(link)
})
