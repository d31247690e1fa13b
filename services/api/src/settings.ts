import { flag, wholeNumber, wordList } from '@plumbline/runtime/settings'
import { z } from 'zod'

const KIB = 1_024
const MIB = 1_048_576
const GIB = 1_073_741_824

function count(fallback: number, bounds: { min?: number; max?: number } = {}) {
  return wholeNumber({ min: bounds.min ?? 1, ...(bounds.max ? { max: bounds.max } : {}) }).default(
    fallback,
  )
}

const eachSetting = z.object({
  HOST: z.string().default('127.0.0.1'),
  PORT: count(8080, { min: 0, max: 65_535 }),
  /** On 127.0.0.1 only, whatever `HOST` is. */
  ADMIN_PORT: count(9090, { min: 0, max: 65_535 }),
  DATABASE_URL: z.string('expected a postgres:// address'),
  REDIS_URL: z.string().optional(),
  /** Begins every key in Redis: two services on one Redis need two. */
  REDIS_PREFIX: z.string().default('plumbline'),
  DATA_DIR: z.string().default('.data'),
  FILES_URL: z.string().optional(),
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
  /** What keys start with: `svc` gives `svc_live_...`. */
  KEY_PREFIX: z
    .string()
    .regex(/^[a-z][a-z0-9]{1,15}$/, 'expected 2 to 16 small letters and digits')
    .default('svc'),
  /** `false` gives back the credits of parts that came back unknown. */
  CHARGE_UNKNOWN: flag().default(true),
  /** File of operator's weights laid over the packaged ones. */
  SCORE_WEIGHTS_FILE: z.string().optional(),
  /** Addresses or CIDRs of proxies whose `X-Forwarded-For` is believed. */
  TRUSTED_PROXIES: wordList().default([]),
  /** Statements of this process that may run at once. */
  DATABASE_POOL_SIZE: count(16, { max: 500 }),
  /** How often the events of a list look for a change. */
  EVENTS_EVERY_MS: count(500, { min: 50, max: 60_000 }),
  /** Streams of events that one account may have open on this process. */
  EVENT_STREAMS_LIMIT: count(20),

  RATE_LIMIT_PER_SECOND: count(50),
  RATE_LIMIT_BURST: count(100),
  FAILED_KEYS_PER_MINUTE: count(20),
  BODY_LIMIT_BYTES: count(100 * KIB),
  RECORDS_BODY_LIMIT_BYTES: count(16 * MIB),
  RECORDS_LIMIT: count(10_000),
  UPLOAD_LIMIT_BYTES: count(512 * MIB),
  UPLOAD_LIMIT_ROWS: count(5_000_000),
  UPLOAD_LIMIT_COLUMNS: count(200),
  CELL_LIMIT_BYTES: count(8 * KIB),
  LINE_LIMIT_BYTES: count(64 * KIB),
  UNFINISHED_BATCHES_LIMIT: count(10),
  STORED_LIMIT_BYTES: count(5 * GIB),
  /** A single call that has no answer by then gets 504 and its credits back. */
  CALL_TIMEOUT_SECONDS: count(15, { max: 300 }),
  /** A run that has not ended by then is taken for dead: its debit is given back and its idempotency key is free. */
  DEBIT_TIMEOUT_SECONDS: count(60),
  MAX_CONNECTIONS: count(10_000),
  /** How long a stop says so on `/readyz` before no more calls are taken. */
  STOP_DELAY_SECONDS: count(1, { min: 0, max: 600 }),
  /** What a stop waits for calls that are under way. */
  DRAIN_SECONDS: count(25, { max: 600 }),
})

/** Settings of the API program. Defaults of limits: decision 37. */
export const apiSettings = eachSetting.refine(
  (all) => all.CALL_TIMEOUT_SECONDS < all.DEBIT_TIMEOUT_SECONDS,
  {
    path: ['CALL_TIMEOUT_SECONDS'],
    error: 'expected less than DEBIT_TIMEOUT_SECONDS, else a call under way is given back',
  },
)

export type ApiSettings = Readonly<z.infer<typeof apiSettings>>
