import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { createClient, type Client } from '@plumbline/client/client'
import { openDatabase, type Db } from '@plumbline/db/database'
import type { Environment } from '@plumbline/runtime/settings'
import { z } from 'zod'
import { Refusal } from './refusal.ts'
import { cliSettings, type CliSettings } from './settings.ts'

const serviceFile = z.object({
  pid: z.int().min(1),
  url: z.string(),
  databaseUrl: z.string(),
  redisUrl: z.string().nullable(),
  keyPrefix: z.string().optional(),
})

/** Addresses of the service and its stores; null for unknown ones. */
export interface ServiceLocation {
  readonly dataDir: string
  readonly url: string | null
  readonly databaseUrl: string | null
  readonly redisUrl: string | null
  /** Prefix of the service's keys. */
  readonly keyPrefix: string
  /** Whether `DATA_DIR/service.json` names a service that has ended. */
  readonly stale: boolean
}

/**
 * Finds the service: the one that runs on `DATA_DIR`, else the one at `DATABASE_URL`, `REDIS_URL`
 * and `API_URL`.
 */
export async function findService(settings: CliSettings): Promise<ServiceLocation> {
  const dataDir = resolve(settings.DATA_DIR)
  const file = await readServiceFile(join(dataDir, 'service.json'))
  if (file !== undefined && isAlive(file.pid) && (await isService(file.url))) {
    const { url, databaseUrl, redisUrl, keyPrefix = settings.KEY_PREFIX } = file
    return { dataDir, url, databaseUrl, redisUrl, keyPrefix, stale: false }
  }
  return {
    dataDir,
    url: settings.API_URL ?? null,
    databaseUrl: settings.DATABASE_DIRECT_URL ?? settings.DATABASE_URL ?? null,
    redisUrl: settings.REDIS_URL ?? null,
    keyPrefix: settings.KEY_PREFIX,
    stale: file !== undefined,
  }
}

/** Opens the service's database for a command. @throws Refusal if it is not known */
export async function openServiceDatabase(environment: Environment): Promise<Db> {
  return openDatabaseOf(await findService(cliSettings(environment)))
}

/** Opens the database of a service that was found. @throws Refusal if it is not known */
export function openDatabaseOf(location: ServiceLocation): Db {
  if (location.databaseUrl === null) throw notFound(location, 'DATABASE_URL')
  return openDatabase({ url: location.databaseUrl, poolSize: 2, applicationName: 'cli' })
}

/** A client of the service. @throws Refusal if its address or the key is not known */
export async function openServiceClient(
  environment: Environment,
  key: string | undefined,
): Promise<Client> {
  const settings = cliSettings(environment)
  const location = await findService(settings)
  if (location.url === null) throw notFound(location, 'API_URL')
  const chosen = key ?? settings.PLUMBLINE_KEY
  if (chosen === undefined) {
    throw new Refusal(
      'No API key was given; pass --key or set PLUMBLINE_KEY ("key create ID --mode live" makes one).',
    )
  }
  if (!/^[\x21-\x7e]+$/.test(chosen)) {
    throw new Refusal('The API key holds characters that no key has; copy it again.')
  }
  return createClient({ baseUrl: location.url, key: chosen })
}

/** The refusal if no service is known. */
function notFound(
  { dataDir, stale }: ServiceLocation,
  setting: 'API_URL' | 'DATABASE_URL',
): Refusal {
  const met = stale ? `The service of ${dataDir} has ended` : `No service runs on ${dataDir}`
  return new Refusal(`${met} and ${setting} is not set; run "npm start", or set ${setting}.`)
}

async function readServiceFile(path: string): Promise<z.infer<typeof serviceFile> | undefined> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return undefined
    throw new Refusal(`${path} cannot be read (${codeOf(error)}); run this as its owner.`, {
      cause: error,
    })
  }
  try {
    return serviceFile.parse(JSON.parse(text))
  } catch (error) {
    throw new Refusal(`${path} is damaged; start the service again to have it written anew.`, {
      cause: error,
    })
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    // A process of somebody else's may be seen and not signalled.
    return codeOf(error) === 'EPERM'
  }
}

/** Time-out of a probe; a busy or stopping service may take as long. */
const PROBE_MS = 3_000

/**
 * Whether this address belongs to the service: its pid may have been reused by another process. An
 * address that does not respond in time counts as the service.
 */
async function isService(url: string): Promise<boolean> {
  try {
    const response = await fetch(new URL('/healthz', url), {
      signal: AbortSignal.timeout(PROBE_MS),
      redirect: 'manual',
    })
    await response.body?.cancel()
    return response.ok && response.headers.has('x-request-id')
  } catch (error) {
    return error instanceof Error && error.name === 'TimeoutError'
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
}
