import { createHash } from 'node:crypto'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { type ListVersion, readVersions, writeVersions } from './versions.ts'
import {
  fetchSource,
  isStopped,
  logUpdate,
  messageOf,
  resultsOf,
  SHRINK_MIN,
  type SourceUpdate,
  type UpdateOptions,
} from './update.ts'
import { writeAtomically } from './write-atomically.ts'
import { parseAddress } from '@plumbline/net/address-bytes'
import { type IpDatabase, readIpDatabase } from './ip-databases.ts'
import type { IpRecord } from './ip-record.ts'

/** A public source of a database that is published monthly. */
export interface DatabaseSource {
  /** Name of the file in the folder of lists. */
  readonly file: string
  /** URL of the gzipped file of a month; `month` as `2026-11`. */
  readonly urlOf: (month: string) => string
  /** A field that the records must have, which identifies the kind of file. */
  readonly requiredField: 'countryCode' | 'asn'
  /** Minimum bytes: a smaller file is an error of the source. */
  readonly leastBytes: number
  /** Size limits, compressed and uncompressed. */
  readonly maxGzipBytes: number
  readonly maxBytes: number
}

const MIB = 1024 * 1024
const DB_IP = 'https://download.db-ip.com/free'

/** Files that `updateDatabases` writes into the folder of lists, and that IP lookups read there. */
export const UPDATED_FILES = { city: 'dbip-city-lite.mmdb', asn: 'dbip-asn-lite.mmdb' } as const

/**
 * DB-IP's own monthly files, each with IPv4 and IPv6, CC BY 4.0 (db-ip.com/db/lite.php, November
 * 2026). Not the npm packages that come with the product: their makers stopped publishing there in
 * June 2026.
 */
export const DATABASE_SOURCES: readonly DatabaseSource[] = [
  {
    file: UPDATED_FILES.city,
    urlOf: (month) => `${DB_IP}/dbip-city-lite-${month}.mmdb.gz`,
    requiredField: 'countryCode',
    leastBytes: 40 * MIB,
    maxGzipBytes: 256 * MIB,
    maxBytes: 512 * MIB,
  },
  {
    file: UPDATED_FILES.asn,
    urlOf: (month) => `${DB_IP}/dbip-asn-lite-${month}.mmdb.gz`,
    requiredField: 'asn',
    leastBytes: 3 * MIB,
    maxGzipBytes: 64 * MIB,
    maxBytes: 128 * MIB,
  },
]

/** Milliseconds for one file: 100 MB over a slow line. */
const TIMEOUT_MS = 20 * 60_000
/** Public resolvers, which every such database contains; all but one must be found. */
const KNOWN = ['1.1.1.1', '8.8.8.8', '9.9.9.9', '208.67.222.222', '2001:4860:4860::8888'] as const

const unzip = promisify(gunzip)

/**
 * Fetches the databases of this month, or of the previous one if this one's is not published yet. A
 * file is checked for size, opened as a MaxMind DB (checking every node of its tree), queried for
 * well-known addresses, and only then renamed into place. A file that cannot be fetched or is
 * implausible stays unchanged.
 */
export async function updateDatabases(
  options: Omit<UpdateOptions, 'sources'> & { readonly sources?: readonly DatabaseSource[] },
): Promise<readonly SourceUpdate[]> {
  await mkdir(options.dir, { recursive: true })
  const updates: SourceUpdate[] = []
  for (const source of options.sources ?? DATABASE_SOURCES) {
    if (isStopped(options.signal)) break
    const update = await updateOne(options, source)
    updates.push(update)
    logUpdate(options.log, update)
  }
  return updates
}

async function updateOne(
  options: Omit<UpdateOptions, 'sources'>,
  source: DatabaseSource,
): Promise<SourceUpdate> {
  const versions = await readVersions(options.dir)
  const before = await soundVersion(join(options.dir, source.file), versions[source.file])
  const done = resultsOf(source.file, before?.count)
  const now = (options.now ?? (() => new Date()))()
  for (const month of monthsOf(now)) {
    const url = source.urlOf(month)
    // The file of a month does not change.
    if (before?.source.includes(url) === true) return done('unchanged', `the file of ${month}`)
    const fetched = await fetchFile(options, source, url)
    if (fetched === 'not out yet') continue
    if (!Buffer.isBuffer(fetched)) return done(fetched.status, fetched.fault)
    const judged = await judge(source, fetched, before)
    if (typeof judged === 'string') return done('refused', judged)
    await writeAtomically(options.dir, source.file, fetched)
    const version: ListVersion = {
      source: [url],
      date: judged.date ?? month,
      fetchedAt: now.toISOString(),
      count: judged.networkCount,
      sha256: sha256Of(fetched),
      sizeBytes: fetched.length,
    }
    await writeVersions(options.dir, { ...versions, [source.file]: version })
    return done('updated', `${judged.networkCount} networks, of ${version.date}`, version.count)
  }
  return done('failed', `neither this month's file nor the one before is at ${DB_IP}`)
}

/** The recorded version of a file, unless the file has changed since it was fetched. */
async function soundVersion(
  path: string,
  version: ListVersion | undefined,
): Promise<ListVersion | undefined> {
  if (version === undefined) return undefined
  return sha256Of(await readFile(path)) === version.sha256 ? version : undefined
}

function sha256Of(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/** This month and the one before, by UTC. */
function monthsOf(now: Date): readonly string[] {
  return [0, 1].map((back) =>
    new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back, 1)).toISOString().slice(0, 7),
  )
}

type Fetched =
  | Buffer
  | 'not out yet'
  | { readonly status: 'failed' | 'refused'; readonly fault: string }

async function fetchFile(
  options: Omit<UpdateOptions, 'sources'>,
  source: DatabaseSource,
  url: string,
): Promise<Fetched> {
  const request = { url, maxBytes: source.maxGzipBytes, timeoutMs: TIMEOUT_MS }
  const answer = await fetchSource(options, request)
  if ('fault' in answer) {
    return answer.status === 404 ? 'not out yet' : { status: 'failed', fault: answer.fault }
  }
  try {
    return await unzip(answer.body, { maxOutputLength: source.maxBytes })
  } catch (error) {
    const fault = `${url}: not gzip of at most ${source.maxBytes} bytes: ${messageOf(error)}`
    return { status: 'refused', fault }
  }
}

/** The database, or the reason why it is implausible. */
async function judge(
  source: DatabaseSource,
  bytes: Buffer,
  before: ListVersion | undefined,
): Promise<IpDatabase | string> {
  const least = Math.max(source.leastBytes, (before?.sizeBytes ?? 0) * SHRINK_MIN)
  if (bytes.length < least) return `expected at least ${least} bytes, got ${bytes.length}`
  const database = await readIpDatabase(source.file, bytes).catch(messageOf)
  if (typeof database === 'string') return database
  const found = KNOWN.filter((text) => recordOf(database, text)?.[source.requiredField] != null)
  if (found.length < KNOWN.length - 1) {
    return `expected ${source.requiredField} of ${KNOWN.join(', ')}, got it of ${found.length} of them`
  }
  if (before !== undefined && (database.date ?? '') < before.date.slice(0, 10)) {
    return `of ${database.date}, before ${before.date}`
  }
  return database
}

function recordOf(database: IpDatabase, text: string): IpRecord | null {
  const address = parseAddress(text)
  return address === null ? null : database.find(address)
}
