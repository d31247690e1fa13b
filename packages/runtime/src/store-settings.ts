import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { INSTALLATION_KEY_CHARS } from './installation-key.ts'
import { wholeNumber } from './settings.ts'

const UNREADABLE =
  'expected an address that can be read; in a password, "/", "#", "?" and "%" are written as ' +
  '%2F, %23, %3F and %25'

/** Settings of database, queue and files, and others that all programs share. */
export const storeSettings = {
  DATABASE_URL: postgresUrl(),
  DATABASE_DIRECT_URL: databaseDirectUrl(),
  /** Maximum number of connections to Postgres of one process; unset: 6 with Redis, 12 without. */
  DATABASE_POOL_SIZE: wholeNumber({ min: 3, max: 500 }).optional(),
  /** Unset: the queue is on Postgres. */
  REDIS_URL: z
    .string()
    .regex(/^rediss?(?:-cluster)?:\/\/./, { error: 'expected a redis:// address', abort: true })
    .refine(isRedisAddress, UNREADABLE)
    .optional(),
  /** Prefix of every key in Redis: two installations on one Redis need two. */
  REDIS_PREFIX: z.string().default('plumbline'),
  DATA_DIR: z.string().default('.data'),
  /** Unset: a file in `DATA_DIR`. All processes of an installation need the same key. */
  INSTALLATION_KEY: z
    .string()
    .min(INSTALLATION_KEY_CHARS, `expected ${INSTALLATION_KEY_CHARS} characters or more`)
    .optional(),
  /** `file:///dir` or `s3://bucket/prefix`; unset: below `DATA_DIR`. */
  FILES_URL: z
    .string()
    .refine(isStoreAddress, 'expected file:///dir or s3://bucket/prefix, percent-encoded')
    .optional(),
  /** File with the operator's weights, which override the packaged ones. */
  SCORE_WEIGHTS_FILE: z.string().optional(),
  /**
   * Seconds after which a call that has not ended counts as failed: its debit is refunded and its
   * idempotency key is free.
   */
  DEBIT_TIMEOUT_SECONDS: wholeNumber({ min: 1 }).default(60),
}

/** URL with the role that owns the tables, for migrations only; unset: `DATABASE_URL`. */
export function migrateDatabaseUrl(): z.ZodOptional<z.ZodString> {
  return postgresUrl().optional()
}

/**
 * URL of the server itself, if `DATABASE_URL` is that of a pooler in transaction mode: for LISTEN
 * and migrations.
 */
export function databaseDirectUrl(): z.ZodOptional<z.ZodString> {
  return postgresUrl().optional()
}

function postgresUrl(): z.ZodString {
  const wanted = 'expected a postgres:// address'
  return z
    .string(wanted)
    .regex(/^postgres(?:ql)?:\/\/./, { error: wanted, abort: true })
    .refine(isPostgresAddress, UNREADABLE)
}

/** As the driver reads it: the host may be missing, if a parameter names it. */
function isPostgresAddress(url: string): boolean {
  return URL.canParse(url) || URL.canParse(url.replace('@/', '@host/'))
}

/** Each node of a cluster is a URL with the login, as the queue reads them. */
function isRedisAddress(url: string): boolean {
  const [, login = '', hosts] = /^rediss?-cluster:\/\/(.*@)?([^/]*)/.exec(url) ?? []
  if (hosts === undefined) return hasReadableLogin(url)
  return hosts.split(',').every((host) => hasReadableLogin(`redis://${login}${host}`))
}

function hasReadableLogin(url: string): boolean {
  const read = URL.parse(url)
  return read !== null && isDecodable(read.username) && isDecodable(read.password)
}

function isStoreAddress(url: string): boolean {
  const read = URL.parse(url)
  if (read?.protocol === 's3:') return read.hostname !== '' && isDecodable(read.pathname)
  if (read?.protocol !== 'file:') return false
  try {
    fileURLToPath(read)
    return true
  } catch {
    // It has another host, or an encoded slash.
    return false
  }
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

/** Prefix of keys: `svc` gives `svc_live_...`. */
export function keyPrefix(): z.ZodDefault<z.ZodString> {
  return z
    .string()
    .regex(/^[a-z][a-z0-9]{1,15}$/, 'expected 2 to 16 small letters and digits')
    .default('svc')
}

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const

/** The lowest level that is logged. */
export function logLevel(
  fallback: (typeof LOG_LEVELS)[number],
): z.ZodType<(typeof LOG_LEVELS)[number], string | undefined> {
  return z.enum(LOG_LEVELS).default(fallback)
}
