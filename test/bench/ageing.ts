import { randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { emptyOpenGroups } from '@plumbline/db/batches/groups'
import { leaseTasks } from '@plumbline/db/batches/lease-tasks'
import { closeFinishedBatches, leaseStages } from '@plumbline/db/batches/stages'
import { openWork } from '@plumbline/db/batches/tasks'
import { inTransaction, type Db } from '@plumbline/db/database'
import { claimKey, storeResponse } from '@plumbline/db/idempotency'
import { createPostgresMemory } from '@plumbline/db/memory'
import { createMetering } from '@plumbline/metering/metering'
import { isRefundedSql } from '@plumbline/metering/refunded'
import { openAgeingService, type AgeingService } from './ageing-service.ts'
import { atMost, bounded, median, quantile, type Figure } from './figure.ts'
import { shiftClock } from './shifted-clock.ts'

const DAY_MS = 86_400_000
const DAYS = 90

/** Rows of the batches of a day; ninety days have 20,007,000. */
const BATCH_ROWS = [
  100_000,
  ...Array.from({ length: 2 }, () => 30_000),
  ...Array.from({ length: 4 }, () => 10_000),
  ...Array.from({ length: 10 }, () => 2_000),
  ...Array.from({ length: 23 }, () => 100),
]
const LEAST_ROWS = 10

/**
 * Single calls of a day with an idempotency key, and facts that workers store for a day or a month.
 */
const CALLS = 1_000
const FACTS = 5_000

/**
 * First days on which as much is deleted as is added (batches are kept for 30 days), and the end of
 * the run.
 */
const EARLY = { from: 32, to: 41 }
const LATE = { from: 81, to: 90 }

/** Largest permitted ratio of the late days to the early ones. */
const MOST = 1.25

/** Largest permitted permanent bytes of a batch: its row, and its ledger entries. */
const PERMANENT_MOST_BYTES = 60_000

/** Tables from which nothing is deleted; all others must not grow. */
const PERMANENT = ['batches', 'score_weights']

/**
 * Runs ninety days of batches, single calls and facts through intake, dispatcher, queue, engines,
 * settlement, result files and retention, on a database whose clock is moved by a day when the work
 * of a day is done. Tables, indexes, dead rows and the dispatcher's rounds on the late days are
 * compared with those on the early ones.
 *
 * @param scale share of the full size of each batch
 */
export async function run(scale: number): Promise<readonly Figure[]> {
  await using service = await openAgeingService()
  const days: Day[] = []
  for (let no = 1; no <= DAYS; no++) {
    days.push(await runDay(service, no, scale))
    const { faults } = service
    if (faults.length > 0) throw new Error(`day ${no}: ${faults.slice(0, 5).join('; ')}`)
    if (no % 10 === 0) console.error(lineOf(no, days.at(-1)))
  }
  return figuresOf(days)
}

/** Measurements at the end of a day. */
interface Day {
  readonly roundsMs: readonly number[]
  /** Consecutive rounds without tasks to dispatch, while nothing else runs. */
  readonly idleMs: readonly number[]
  readonly seconds: number
  /** Bytes of tables (with TOAST) and of indexes. */
  readonly tables: number
  readonly indexes: number
  readonly queue: number
  readonly permanent: number
  readonly dead: number
  readonly batches: number
  readonly largest: string
}

async function runDay(service: AgeingService, no: number, scale: number): Promise<Day> {
  const { db, accounts } = service
  const startedMs = performance.now()
  const roundsMs = await workBatches(service, no, scale)
  await storeCallsAndFacts(db, accounts, no, scale)
  await shiftClock(db, no * DAY_MS)
  await untilSwept(db)
  const seconds = (performance.now() - startedMs) / 1_000
  return { ...(await measure(db)), roundsMs, idleMs: await idleRounds(db), seconds }
}

async function workBatches(
  service: AgeingService,
  no: number,
  scale: number,
): Promise<readonly number[]> {
  await using dispatcher = service.dispatch()
  for (const [at, rows] of BATCH_ROWS.entries()) {
    const account = service.accounts[at % service.accounts.length] ?? ''
    await service.submit(account, listOf(`${no}-${at}`, Math.max(LEAST_ROWS, rows * scale)))
  }
  await untilNone(
    service.db,
    `select from batches where status in ('analyzing', 'running', 'finalizing') limit 1`,
    service.faults,
  )
  return dispatcher.roundsMs
}

/** Of a hundred records, three must wait for their provider, and two each for a time of their own. */
function listOf(word: string, rows: number): string {
  const lines = Array.from({ length: Math.round(rows) }, (_, row) => {
    const kind = row % 100 < 3 ? 'busy1' : row % 100 < 5 ? 'grey1' : 'u'
    return `Person ${row},${kind}.${row}.${word}@company${(row * 7) % 5_000}.example\n`
  })
  return `name,email\n${lines.join('')}`
}

async function storeCallsAndFacts(
  db: Db,
  accounts: readonly string[],
  no: number,
  scale: number,
): Promise<void> {
  await using metering = createMetering(db)
  const one = async (at: number): Promise<void> => {
    const accountId = accounts[at % accounts.length] ?? ''
    const opKey = randomUUID()
    const call = {
      accountId,
      mode: 'live' as const,
      path: '/v1/email',
      key: opKey,
      opKey,
      fingerprint: Buffer.alloc(32, at % 256),
    }
    await claimKey(db, call, { runMs: 60_000, isRefunded: isRefundedSql('held') })
    await metering.debit({ accountId, opKey, credits: 1 })
    await inTransaction(db, async (tx) => {
      await storeResponse(tx, call, { status: 200, location: null, body: 'x'.repeat(400) })
      await metering.finalizeIn(tx, { accountId, opKey })
    })
  }
  const calls = Math.ceil(CALLS * scale)
  for (let at = 0; at < calls; at += 8) {
    await Promise.all(Array.from({ length: Math.min(8, calls - at) }, (_, next) => one(at + next)))
  }
  for (const [durable, days] of [
    [false, 1],
    [true, 30],
  ] as const) {
    const memory = createPostgresMemory(db, { durable })
    const entries = Array.from({ length: Math.ceil(FACTS * scale) }, (_, at) => ({
      key: `fact:${no}:${at}`,
      value: { text: 'x'.repeat(100) },
      ttlMs: days * DAY_MS,
    }))
    await memory.set(entries)
  }
}

/** Rows that the sweeps must have deleted. */
const OVERDUE = `
  select from batches where expires_at <= clock_timestamp() or erasing is not null
  union all select from idempotency_keys where expires_at <= now()
  union all select from memory_entries where expires_at <= now()
  union all select from durable_entries where expires_at <= now()
  limit 1`

async function untilSwept(db: Db): Promise<void> {
  await untilNone(db, OVERDUE, [])
}

const POLL_MS = 50

async function untilNone(db: Db, statement: string, faults: readonly string[]): Promise<void> {
  while (faults.length === 0) {
    const { rowCount } = await db.pool.query(statement)
    if (rowCount === 0) return
    await wait(POLL_MS)
  }
}

const SLOTS = { email: 16, phone: 16, ip: 8, domain: 64 }
const ROUNDS = 20

async function idleRounds(db: Db): Promise<readonly number[]> {
  const roundsMs: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const startedMs = performance.now()
    await openWork(db)
    await leaseTasks(db, { slots: SLOTS, reserve: 4, leaseMs: 30_000 })
    await emptyOpenGroups(db)
    await closeFinishedBatches(db)
    await leaseStages(db, 30_000)
    roundsMs.push(performance.now() - startedMs)
  }
  return roundsMs
}

const SIZES = `
  select c.relname as name, n.nspname as schema, pg_table_size(c.oid)::float8 as tables,
    pg_indexes_size(c.oid)::float8 as indexes, coalesce(s.n_dead_tup, 0)::float8 as dead,
    c.relname = any($1) or c.relname like 'credit\\_%' or c.relname like 'usage%' as "isForEver"
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
    left join pg_stat_all_tables s on s.relid = c.oid
  where c.relkind = 'r' and n.nspname in ('public', 'bullmq')
  order by pg_total_relation_size(c.oid) desc`

async function measure(db: Db): Promise<Omit<Day, 'roundsMs' | 'idleMs' | 'seconds'>> {
  const { rows } = await db.pool.query<{
    name: string
    schema: string
    tables: number
    indexes: number
    dead: number
    isForEver: boolean
  }>(SIZES, [PERMANENT])
  const kept = await db.pool.query<{ count: number }>('select count(*)::int as count from batches')
  const sum = (some: typeof rows, of: (row: (typeof rows)[number]) => number): number =>
    some.reduce((total, row) => total + of(row), 0)
  const ours = rows.filter(({ schema, isForEver }) => schema === 'public' && !isForEver)
  return {
    tables: sum(ours, ({ tables }) => tables),
    indexes: sum(ours, ({ indexes }) => indexes),
    queue: sum(
      rows.filter(({ schema }) => schema === 'bullmq'),
      ({ tables, indexes }) => tables + indexes,
    ),
    permanent: sum(
      rows.filter(({ isForEver }) => isForEver),
      ({ tables, indexes }) => tables + indexes,
    ),
    dead: sum(rows, ({ dead }) => dead),
    batches: kept.rows[0]?.count ?? 0,
    largest: rows
      .slice(0, 6)
      .map(({ name, tables, indexes }) => `${name} ${megabytes(tables)}+${megabytes(indexes)}`)
      .join(', '),
  }
}

function figuresOf(days: readonly Day[]): readonly Figure[] {
  const between = ({ from, to }: typeof EARLY): readonly Day[] => days.slice(from - 1, to)
  const of = (some: readonly Day[], what: (day: Day) => number): number => median(some.map(what))
  const flat = (name: string, unit: string, what: (day: Day) => number): Figure =>
    atMost(
      { name, backend: 'postgres', unit },
      of(between(LATE), what),
      of(between(EARLY), what),
      MOST,
    )
  const first = days[EARLY.to - 1]
  const last = days.at(-1)
  const permanentBytes =
    first === undefined || last === undefined
      ? Number.NaN
      : (last.permanent - first.permanent) / (last.batches - first.batches)
  return [
    flat(
      'ageing: tables, days 81 to 90 compared with 32 to 41',
      'MB',
      ({ tables }) => tables / 1e6,
    ),
    flat('ageing: indexes', 'MB', ({ indexes }) => indexes / 1e6),
    flat('ageing: queue', 'MB', ({ queue }) => queue / 1e6),
    flat('ageing: dead rows', 'rows', ({ dead }) => dead),
    flat('ageing: dispatcher round with work, p50', 'ms', ({ roundsMs }) =>
      quantile(roundsMs, 0.5),
    ),
    flat('ageing: idle dispatcher round, p50', 'ms', ({ idleMs }) => quantile(idleMs, 0.5)),
    flat('ageing: a day of work', 's', ({ seconds }) => seconds),
    bounded(
      { name: 'ageing: permanent size of a batch', backend: 'postgres', unit: 'bytes' },
      permanentBytes,
      PERMANENT_MOST_BYTES,
    ),
  ]
}

function lineOf(no: number, day: Day | undefined): string {
  if (day === undefined) return ''
  const { tables, indexes, queue, permanent, dead, roundsMs, idleMs, seconds, largest } = day
  const rounds = [roundsMs, idleMs].map((ms) => quantile(ms, 0.5).toFixed(1)).join('/')
  return (
    `day ${no}: ${seconds.toFixed(1)} s; MB: tables ${megabytes(tables)}, indexes ${megabytes(indexes)}, ` +
    `queue ${megabytes(queue)}, permanent ${megabytes(permanent)}; dead ${dead}; rounds ${rounds} ms; ${largest}`
  )
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1)
}
