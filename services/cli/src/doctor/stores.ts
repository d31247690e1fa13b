import { randomUUID } from 'node:crypto'
import { mkdtemp, rm, stat, statfs, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { listAccounts } from '@plumbline/db/accounts'
import { openDatabase } from '@plumbline/db/database'
import { mayChangeLedger } from '@plumbline/db/serving-role'
import { readProviderStatus } from '@plumbline/ports/provider-status'
import { openConnections, type Connections } from '@plumbline/pipeline/connections'
import { depth } from '@plumbline/queue/jobs'
import { QUEUE_NAMES } from '@plumbline/queue/names'
import { readDurability } from '@plumbline/queue/redis-durability'
import { filesFolder, filesUrl } from '@plumbline/runtime/files-url'
import { orAbsent } from '@plumbline/runtime/or-absent'
import { openStorage } from '@plumbline/storage/open'
import type { ServiceLocation } from '../service.ts'
import { socketFault } from '../failure.ts'
import { attempt, ok, trouble, type Finding } from './finding.ts'
import { redisFindings } from './redis.ts'
import type { DoctorSettings } from './settings.ts'

const SILENT = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
const READY_MS = 5_000
const ROLE_ADVICE =
  'Migrate as MIGRATE_DATABASE_URL, the owner of the tables, and set DATABASE_URL to a role of its own.'
const MIB = 1024 * 1024
/**
 * Free space in MiB below which batches of the usual limits no longer fit, and below which nothing
 * does.
 */
const LITTLE_MIB = 5 * 1024
const NONE_MIB = 512

/** Examines the service, its database, queue and file store, and the disks of data and files. */
export async function examineStores(
  location: ServiceLocation,
  settings: DoctorSettings,
): Promise<readonly Finding[]> {
  const parts = await Promise.all([
    attempt('service', 'See its log, or start it again with "npm start".', () => service(location)),
    attempt('database', 'Check DATABASE_URL and that Postgres runs.', () => database(location)),
    attempt('queue', 'Check REDIS_URL and that Redis or Valkey runs.', () =>
      queue(location, settings),
    ),
    attempt('files', 'Check FILES_URL and who may write there.', () => files(location, settings)),
    attempt('disk', 'Check that DATA_DIR can be read.', () => disk(location)),
    attempt('disk of files', 'Check that the folder of FILES_URL can be read.', () =>
      diskOfFiles(location, settings),
    ),
  ])
  return parts.flat()
}

async function service({ url, dataDir, stale }: ServiceLocation): Promise<readonly Finding[]> {
  if (url === null) {
    const met = stale ? `that of ${dataDir} has ended` : `none on ${dataDir}`
    return [trouble('service', 'off', met, 'Start it with "npm start", or set API_URL.')]
  }
  try {
    const answer = await fetch(new URL('/readyz', url), {
      signal: AbortSignal.timeout(READY_MS),
    })
    await answer.body?.cancel()
    if (answer.ok) return [ok('service', `takes calls on ${url}`)]
    return [
      trouble('service', 'failed', `${url} says ${answer.status}`, 'See database and queue below.'),
    ]
  } catch (error) {
    throw new Error(`${url} does not answer: ${socketFault(error) ?? 'no reason given'}`, {
      cause: error,
    })
  }
}

async function database({ databaseUrl }: ServiceLocation): Promise<readonly Finding[]> {
  if (databaseUrl === null) return [unknownHere('database', 'DATABASE_URL')]
  await using db = openDatabase({ url: databaseUrl, poolSize: 1, applicationName: 'doctor' })
  const startedAt = performance.now()
  try {
    await listAccounts(db, 1)
  } catch (error) {
    throw new Error(socketFault(error) ?? String(error), { cause: error })
  }
  const answers = ok('database', `answers in ${Math.round(performance.now() - startedAt)} ms`)
  if (!(await mayChangeLedger(db))) return [answers]
  const detail = 'the service works as a role that could change the ledger'
  return [answers, trouble('database role', 'degraded', detail, ROLE_ADVICE)]
}

async function queue(
  location: ServiceLocation,
  settings: DoctorSettings,
): Promise<readonly Finding[]> {
  const { databaseUrl, redisUrl } = location
  if (databaseUrl === null) return [unknownHere('queue', 'DATABASE_URL')]
  await using connections = await openConnections({
    databaseUrl,
    redisUrl: redisUrl ?? undefined,
    redisPrefix: settings.REDIS_PREFIX,
    poolSize: 4,
    name: 'doctor',
    log: SILENT,
  })
  await connections.queue.ping()
  const depths = await Promise.all(QUEUE_NAMES.map((name) => depth(connections.queue, name)))
  const waiting = depths.reduce((sum, { waiting }) => sum + waiting, 0)
  return [
    ok('queue', `on ${connections.queue.kind}, ${waiting} jobs waiting`),
    ...(await durability(connections)),
    ...(await pausedProviders(connections)),
  ]
}

/** Whether a Redis keeps what it was given; nothing without one. */
async function durability({ queue: { redis } }: Connections): Promise<readonly Finding[]> {
  if (redis === null) return []
  return await attempt('redis', 'Allow the command INFO to the user of REDIS_URL.', async () =>
    redisFindings(await readDurability(redis)),
  )
}

/** HLR providers that the workers have paused. */
async function pausedProviders({ memory }: Connections): Promise<readonly Finding[]> {
  const statuses = await readProviderStatus(memory)
  return statuses.flatMap(({ provider, paused }) =>
    paused === null
      ? []
      : trouble(
          `hlr ${provider}`,
          'failed',
          `paused: ${paused}`,
          'Top up or correct the account; it is asked again within ten minutes.',
        ),
  )
}

async function files(
  { dataDir }: ServiceLocation,
  { FILES_URL }: DoctorSettings,
): Promise<readonly Finding[]> {
  if (FILES_URL === undefined && !(await exists(dataDir)))
    return [unknownHere('files', 'FILES_URL')]
  const scratchDir = await mkdtemp(join(tmpdir(), 'plumbline-doctor-'))
  try {
    const url = filesUrl(FILES_URL, dataDir)
    await using storage = await openStorage({ url, scratchDir })
    const key = `doctor-${randomUUID()}`
    const path = join(scratchDir, key)
    await writeFile(path, key)
    try {
      await storage.put(key, path)
      const read = await buffer(await storage.open(key))
      if (read.toString() !== key) throw new Error('a file was read back with different content')
    } finally {
      await storage.remove([key])
    }
    const shown = FILES_URL === undefined ? join(dataDir, 'files') : new URL(url).protocol
    return [ok('files', `written and read back (${shown})`)]
  } finally {
    await rm(scratchDir, { recursive: true, force: true })
  }
}

async function disk({ dataDir }: ServiceLocation): Promise<readonly Finding[]> {
  if (!(await exists(dataDir))) return [unknownHere('disk', 'DATA_DIR')]
  return [await spaceOf('disk', dataDir)]
}

/** Nothing for files on the disk of `DATA_DIR`, or in a remote store. */
async function diskOfFiles(
  { dataDir }: ServiceLocation,
  { FILES_URL }: DoctorSettings,
): Promise<readonly Finding[]> {
  const folder = filesFolder(FILES_URL, dataDir)
  if (folder === null || !(await exists(folder))) return []
  const own = await orAbsent(stat(dataDir))
  if (own?.dev === (await stat(folder)).dev) return []
  return [await spaceOf('disk of files', folder)]
}

async function spaceOf(name: string, folder: string): Promise<Finding> {
  const { bavail, bsize } = await statfs(folder)
  const freeMib = Math.floor((bavail * bsize) / MIB)
  const detail = `${(freeMib / 1024).toFixed(1)} GiB free below ${folder}`
  if (freeMib >= LITTLE_MIB) return ok(name, detail)
  const status = freeMib < NONE_MIB ? 'failed' : 'degraded'
  return trouble(name, status, detail, 'Free some space, or move DATA_DIR or FILES_URL.')
}

function unknownHere(name: string, setting: string): Finding {
  const advice = `Start the service with "npm start", or set ${setting}.`
  return trouble(name, 'off', 'not known: no service runs on this data directory', advice)
}

async function exists(path: string): Promise<boolean> {
  return await stat(path).then(
    (facts) => facts.isDirectory(),
    () => false,
  )
}
