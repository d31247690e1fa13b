import { spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { parseAddress } from '@plumbline/net/address-bytes'
import { createCountryNames } from '@plumbline/datasets/country-names'
import { loadIpData } from '@plumbline/ip/data'
import { packagedAsn, packagedCityFiles } from '@plumbline/datasets/ip-databases'
import { lookupIp } from '@plumbline/ip/lookup'
import { readNumbering } from '@plumbline/phone/numbering'
import { loadPhonePrefixes } from '@plumbline/phone/prefixes'
import { getExampleNumber, parsePhoneNumberFromString, getCountries } from 'libphonenumber-js/max'
import examples from 'libphonenumber-js/mobile/examples'
import { Reader } from 'mmdb-lib'
import { atLeast, atMost, bounded, type Figure, median } from './figure.ts'
import { makeIpLists } from './ip-lists.ts'

const ADDRESSES = 100_000
const ROUNDS = 5
const MIB = 1024 * 1024
/** Flags with which the service starts its workers. */
const HEAP_FLAGS = ['--max-semi-space-size=8']

/** Limits of the figures. */
const LOOKUP_RATIO_MOST = 1.5
const PHONE_RATIO_LEAST = 0.7
const START_MS_MOST = 2_000
const RSS_MIB_MOST = 400
const PAUSE_MS_MOST = 20

/**
 * IP lookups compared with the readers of the databases alone, phone numbers with libphonenumber
 * alone, and start time, memory and pauses of a list update.
 */
export async function run(): Promise<readonly Figure[]> {
  await using lists = await makeIpLists()
  const { current } = await loadIpData({ listsDir: lists.dir })
  const ip = await compareIp((text) => lookupIp(current, text))
  const phone = await comparePhone()
  const start = await startApart(lists.dir)
  const head = (name: string, unit: string): Pick<Figure, 'name' | 'backend' | 'unit'> => ({
    name,
    backend: 'memory',
    unit,
  })
  return [
    atMost(head('ip: lookup with all lists', 'us'), ip.ours, ip.bare, LOOKUP_RATIO_MOST),
    atLeast(head('phone: without HLR', 'numbers/s'), phone.ours, phone.bare, PHONE_RATIO_LEAST),
    bounded(head('ip: start with all IP and phone data', 'ms'), start.startMs, START_MS_MOST),
    bounded(
      head('ip: memory with all IP and phone data', 'MiB'),
      start.rssBytes / MIB,
      RSS_MIB_MOST,
    ),
    bounded(head('ip: longest pause of a list update', 'ms'), start.pauseMs, PAUSE_MS_MOST),
  ]
}

interface Compared {
  readonly ours: number
  readonly bare: number
}

/** Microseconds a lookup; medians of alternate rounds. */
async function compareIp(lookup: (text: string) => unknown): Promise<Compared> {
  const [v4File, v6File] = packagedCityFiles()
  const asn = await packagedAsn()
  if (v4File === undefined || v6File === undefined || asn === null) {
    throw new Error('expected the packaged IP data: npm ci without --omit=optional')
  }
  const readers = { 4: new Reader(await readFile(v4File)), 6: new Reader(await readFile(v6File)) }
  const addresses = randomAddresses(ADDRESSES)
  const bare = (text: string): unknown => {
    const bytes = parseAddress(text)
    const place = (text.includes(':') ? readers[6] : readers[4]).get(text)
    return [place, bytes === null ? null : asn.table.find(bytes)]
  }
  return inTurns(
    () => microsecondsEach(addresses, lookup),
    () => microsecondsEach(addresses, bare),
  )
}

/** Numbers a second; medians of alternate rounds. */
async function comparePhone(): Promise<Compared> {
  const tables = { prefixes: await loadPhonePrefixes(), countries: createCountryNames() }
  const numbers = getCountries().flatMap((country) => {
    const example = getExampleNumber(country, examples)
    return example === undefined ? [] : Array.from({ length: 40 }, () => example.number)
  })
  const bare = (text: string): unknown => {
    const number = parsePhoneNumberFromString(text)
    return [number?.isValid(), number?.getType(), number?.formatNational()]
  }
  return inTurns(
    () => 1e6 / microsecondsEach(numbers, (text) => readNumbering(tables, text)),
    () => 1e6 / microsecondsEach(numbers, bare),
  )
}

function inTurns(ours: () => number, bare: () => number): Compared {
  const measured = { ours: [ours()], bare: [bare()] }
  // The first round of each warms up.
  measured.ours.pop()
  measured.bare.pop()
  for (let round = 0; round < ROUNDS; round++) {
    measured.ours.push(ours())
    measured.bare.push(bare())
  }
  return { ours: median(measured.ours), bare: median(measured.bare) }
}

function microsecondsEach(items: readonly string[], work: (item: string) => unknown): number {
  const startedMs = performance.now()
  for (const item of items) work(item)
  return ((performance.now() - startedMs) * 1_000) / items.length
}

function randomAddresses(count: number): readonly string[] {
  const below = (most: number): number => Math.floor(Math.random() * most)
  return Array.from({ length: count }, (_, index) =>
    index % 5 === 4
      ? `2${below(4096).toString(16).padStart(3, '0')}:${below(65_536).toString(16)}::${below(65_536).toString(16)}`
      : `${1 + below(222)}.${below(256)}.${below(256)}.${below(256)}`,
  )
}

/** Measurements of a child process. */
export interface StartMeasurements {
  readonly startMs: number
  readonly rssBytes: number
  readonly pauseMs: number
}

/** Measures in a new process, whose memory contains only the data. */
async function startApart(listsDir: string): Promise<StartMeasurements> {
  const script = fileURLToPath(new URL('ip-start.ts', import.meta.url))
  const child = spawn(process.execPath, [...HEAP_FLAGS, script, listsDir], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const chunks: Buffer[] = []
  for await (const chunk of child.stdout) if (Buffer.isBuffer(chunk)) chunks.push(chunk)
  const measured: StartMeasurements = JSON.parse(Buffer.concat(chunks).toString('utf8'))
  return measured
}
