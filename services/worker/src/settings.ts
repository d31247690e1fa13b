import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { DEFAULT_SLOTS, type Slots } from '@plumbline/pipeline/pipeline'
import { flag, wholeNumber, wordList } from '@plumbline/runtime/settings'
import { z } from 'zod'

const port = (fallback: number): z.ZodDefault<ReturnType<typeof wholeNumber>> =>
  wholeNumber({ min: 1, max: 65_535 }).default(fallback)

const count = (fallback: number, min = 1): z.ZodDefault<ReturnType<typeof wholeNumber>> =>
  wholeNumber({ min }).default(fallback)

const eachSetting = z.object({
  DATABASE_URL: z.string('expected a postgres:// address'),
  REDIS_URL: z.string().optional(),
  /** Begins every key in Redis: two services on one Redis need two. */
  REDIS_PREFIX: z.string().default('plumbline'),
  DATA_DIR: z.string().default('.data'),
  FILES_URL: z.string().optional(),
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
  DATABASE_POOL_SIZE: count(12),
  /** Single calls that a worker of one check has under way. */
  LIVE_CONCURRENCY: count(16),
  /** Tasks of lists of one check under way; unset: 16 of email and phone, 8 of ip, 64 of domain. */
  BULK_SLOTS: wholeNumber({ min: 1 }).optional(),
  BULK_RESERVE: count(4),
  CHUNK_RECORDS: count(1_000),
  LEASE_SECONDS: count(30, 2),
  SAVE_SECONDS: count(5),
  SWEEP_SECONDS: count(15),
  DEBIT_TIMEOUT_SECONDS: count(60),
  DRAIN_SECONDS: count(20),
  UPLOAD_LIMIT_BYTES: count(512 * 1024 * 1024),
  UPLOAD_LIMIT_ROWS: count(5_000_000),
  UPLOAD_LIMIT_COLUMNS: count(200),
  CELL_LIMIT_BYTES: count(8 * 1024),
  LINE_LIMIT_BYTES: count(64 * 1024),
  SCORE_WEIGHTS_FILE: z.string().optional(),

  DNS_SERVERS: wordList().optional(),
  EGRESS_ALLOW: wordList().default([]),
  LISTS_DIR: z.string().optional(),

  SMTP_PORT: port(25),
  SMTP_HELO_NAME: z.string().optional(),
  SMTP_MAIL_FROM: z.string().optional(),
  SMTP_PROXY_URL: z.string().optional(),
  SMTP_SOURCE_ADDRESSES: wordList().default([]),
  /** `false`: no handshakes at all, verdicts by DNS and lists only. */
  SMTP_PROBING: flag().default(true),
  SMTP_PROBING_OFF: wordList().default([]),
  /** To one provider or mail host from one address; unset: the provider table's own, careful figures. */
  SMTP_CONNECTIONS_PER_HOST: wholeNumber({ min: 1 }).optional(),
  SMTP_RECIPIENTS_PER_MINUTE: wholeNumber({ min: 2 }).optional(),
  GREYLIST_SCHEDULE_SECONDS: wordList()
    .transform((words) => words.map(Number))
    .refine((waits) => waits.every((wait) => Number.isFinite(wait) && wait > 0), {
      message: 'expected seconds, comma-separated',
    })
    .default([300, 900, 2100, 4500]),

  RDAP_BOOTSTRAP_URL: z.url().default('https://data.iana.org/rdap/dns.json'),
  WHOIS_SERVER: z.string().default('whois.iana.org'),
  WHOIS_PORT: port(43),
  /** Questions a second to one registry server, over all workers. */
  REGISTRY_QUERIES_PER_SECOND: count(2),
  /** Whether front pages are read to tell parked names. */
  PARKED_PAGES: flag().default(false),
  /** Port of name servers that are asked directly; other than 53 for tests only. */
  NAME_SERVER_PORT: port(53),

  /** In order of choice; with several, the three below hold one value for each, comma-separated. */
  HLR_PROVIDER: wordList().default([]),
  HLR_URL: z.string().optional(),
  HLR_KEY: z.string().optional(),
  HLR_SECRET: z.string().optional(),
  /** Requests to one provider, over all workers; numbers bought of it in a UTC day at most. */
  HLR_QUERIES_PER_SECOND: count(15),
  HLR_CONNECTIONS: count(10),
  HLR_DAILY_CAP: wholeNumber({ min: 0 }).optional(),
  HLR_CACHE_HOURS: count(24),

  IP_CITY_DB: z.string().optional(),
  IP_ASN_DB: z.string().optional(),
})

/** When a debit without an answer is given back at the latest. Source: decision 12. */
const GIVEN_BACK_SECONDS = 120

/** Settings of every worker. Names and defaults: design.md. */
export const workerSettings = eachSetting.refine(
  (all) => all.DEBIT_TIMEOUT_SECONDS + all.SWEEP_SECONDS <= GIVEN_BACK_SECONDS,
  {
    path: ['DEBIT_TIMEOUT_SECONDS'],
    error: `expected at most ${GIVEN_BACK_SECONDS} together with SWEEP_SECONDS`,
  },
)

export type WorkerSettings = Readonly<z.infer<typeof workerSettings>>

/** Where the operator's lists are: as set, else where `cli data update` puts them; null for none. */
export async function listsDir(settings: WorkerSettings): Promise<string | null> {
  if (settings.LISTS_DIR !== undefined) return settings.LISTS_DIR
  const usual = join(settings.DATA_DIR, 'lists')
  const found = await stat(usual).catch(() => null)
  return found?.isDirectory() === true ? usual : null
}

/** Tasks of lists of each check under way: one number for all where it is set. */
export function slotsOf({ BULK_SLOTS }: Pick<WorkerSettings, 'BULK_SLOTS'>): Slots {
  if (BULK_SLOTS === undefined) return DEFAULT_SLOTS
  return { email: BULK_SLOTS, phone: BULK_SLOTS, ip: BULK_SLOTS, domain: BULK_SLOTS }
}
