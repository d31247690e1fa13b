import { loadIpData } from '@plumbline/ip/data'
import { loadNames, loadRanges } from '@plumbline/datasets/load'
import { findListsDir } from '@plumbline/datasets/lists-dir'
import { NAME_LISTS, RANGE_LISTS } from '@plumbline/datasets/source'
import { PUBLIC_SOURCES } from '@plumbline/datasets/sources'
import { judgeUpdate, readUpdateRecord } from '@plumbline/datasets/update-record'
import { loadWeights } from '@plumbline/scoring/weights'
import type { ServiceLocation } from '../service.ts'
import { attempt, ok, trouble, type Finding } from './finding.ts'
import type { DoctorSettings } from './settings.ts'

const DAY_MS = 86_400_000
/** Age of lists that is reported: addresses of anonymity networks change within weeks. */
const LISTS_OLD_DAYS = 30
/** Age of IP databases that is reported: allocations change more slowly. */
const DATABASES_OLD_DAYS = 120
const IP_ADVICE = 'Run "data update", or fetch MMDB files and set IP_CITY_DB and IP_ASN_DB to them.'

/**
 * Lists, IP databases and weights: whether they can be read, their age, and the result of the last
 * update.
 */
export async function examineData(
  location: ServiceLocation,
  settings: DoctorSettings,
): Promise<readonly Finding[]> {
  const dir = await findListsDir(settings.LISTS_DIR, location.dataDir)
  const parts = await Promise.all([
    attempt('lists', 'Check LISTS_DIR; "data update" fetches the lists anew.', () => lists(dir)),
    attempt('list updates', 'Check LISTS_DIR.', () => listUpdates(dir)),
    attempt('ip data', 'Check IP_CITY_DB, IP_ASN_DB and LISTS_DIR.', () => ipData(dir, settings)),
    attempt('weights', 'Correct SCORE_WEIGHTS_FILE.', () => weights(settings)),
  ])
  return parts.flat()
}

async function lists(dir: string | null): Promise<readonly Finding[]> {
  const loaded = [
    ...(await Promise.all(NAME_LISTS.map((name) => loadNames(dir, name)))),
    ...(await Promise.all(RANGE_LISTS.map((name) => loadRanges(dir, name)))),
  ]
  // Lists without a publisher do not become outdated.
  const published = loaded.filter(({ name }) => PUBLIC_SOURCES.some(({ list }) => list === name))
  const dated = published.flatMap(({ name, date }) =>
    date === null || Number.isNaN(Date.parse(date)) ? [] : [{ name, days: daysSince(date) }],
  )
  const oldest = dated.toSorted((one, other) => other.days - one.days)[0]
  const from = dir ?? 'packaged seeds'
  if (oldest === undefined) return [ok('lists', `${loaded.length} lists from ${from}, undated`)]
  const detail = `${loaded.length} lists from ${from}; the oldest, ${oldest.name}, is of ${oldest.days} days ago`
  if (dir === null || oldest.days > LISTS_OLD_DAYS) {
    const advice = 'Run "data update" now. Batch workers do so daily, unless DATA_UPDATE is off.'
    return [trouble('lists', 'degraded', detail, advice)]
  }
  return [ok('lists', detail)]
}

/**
 * Result of the last update, whichever process ran it; nothing if there was none, since the age of
 * the lists then shows it.
 */
async function listUpdates(dir: string | null): Promise<readonly Finding[]> {
  const record = dir === null ? null : await readUpdateRecord(dir)
  if (record === null) return []
  const { status, detail } = judgeUpdate(record, new Date())
  const advice =
    status === 'ok' ? null : 'Run "data update", which says of each source why it did not come.'
  return [{ name: 'list updates', status, detail, advice }]
}

async function ipData(
  dir: string | null,
  { IP_CITY_DB, IP_ASN_DB }: DoctorSettings,
): Promise<readonly Finding[]> {
  const store = await loadIpData({ cityDb: IP_CITY_DB, asnDb: IP_ASN_DB, listsDir: dir })
  const rows = store.health().map((row): Finding => ({
    ...row,
    advice: row.name === 'ip lists' ? 'Run "data update".' : IP_ADVICE,
  }))
  const { databases, asnTable } = store.current
  const dates = [...databases, ...(asnTable === null ? [] : [asnTable])].map(({ date }) => date)
  return databases.length === 0 ? rows : [...rows, ageOf(dates)]
}

function ageOf(dates: readonly (string | null)[]): Finding {
  const days = dates.flatMap((date) => (date === null ? [] : [daysSince(date)]))
  if (days.length === 0) return ok('ip data', `${dates.length} databases, undated`)
  const oldest = Math.max(...days)
  const detail = `${dates.length} databases, the oldest of ${oldest} days ago`
  return oldest > DATABASES_OLD_DAYS
    ? trouble('ip data', 'degraded', detail, IP_ADVICE)
    : ok('ip data', detail)
}

async function weights({ SCORE_WEIGHTS_FILE }: DoctorSettings): Promise<readonly Finding[]> {
  const { version } = await loadWeights(SCORE_WEIGHTS_FILE)
  return [ok('weights', `version ${version}`)]
}

function daysSince(date: string): number {
  return Math.floor((Date.now() - Date.parse(date)) / DAY_MS)
}
