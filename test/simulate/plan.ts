import { CHECKS, type Check } from '@plumbline/contract/products'
import { createRandom, type Random } from '../simnet/random.ts'
import {
  ACTIVE_MS,
  LARGE_CANCEL_MS,
  planFaults,
  planStandstills,
  THEMES,
  type Fault,
  type Theme,
} from './plan-faults.ts'

/** Products of simulated batches. */
export type BatchProduct = 'email' | 'ip' | 'phone' | 'contact-intel'

/** A batch that a customer submits. */
export interface PlannedBatch {
  readonly kind: 'batch'
  readonly atMs: number
  readonly account: number
  readonly product: BatchProduct
  readonly rows: number
  /** Every nth row must wait for a limit or a time, or makes its engine throw; 0: none does. */
  readonly specialEvery: number
  readonly special: Special
  readonly repeat: Repeat
}

/**
 * A special property of a batch: a long file; a retention of 0 days, so that it expires when it ends; all
 * rows wait until it is canceled.
 */
export type Special = 'none' | 'long_file' | 'no_retention' | 'all_wait'

/** How a request is repeated with its `Idempotency-Key`: twice concurrently, or after its response was lost. */
export type Repeat = 'none' | 'concurrent' | 'response_lost'

/** A single call. */
export interface PlannedCall {
  readonly kind: 'call'
  readonly atMs: number
  readonly account: number
  readonly check: Check
  readonly subject: string
  readonly repeat: Repeat
}

/** A change of a batch, which is given by its index; `again` sends the request twice concurrently. */
export interface PlannedChange {
  readonly kind: 'change'
  readonly atMs: number
  readonly batch: number
  readonly change: 'cancel' | 'pause' | 'resume'
  readonly again: boolean
}

/** A planned request of a customer. */
export type PlannedRequest = PlannedBatch | PlannedCall | PlannedChange

/** The accounts, requests and faults of a world, determined by the seed. */
export interface Plan {
  readonly seed: number
  readonly backend: 'postgres' | 'redis'
  /** Whether connections to Postgres outlast a failover, as behind a pooler. */
  readonly isPooled: boolean
  readonly chunkRecords: number
  /** Milliseconds that an engine takes for a subject. */
  readonly delayMs: number
  /** Credits of each account. */
  readonly accounts: readonly number[]
  readonly requests: readonly PlannedRequest[]
  readonly faults: readonly Fault[]
}

/** Delay and records of long tasks, which take several times the interval at which outcomes are saved. */
const LONG_DELAY_MS = 1_200
const LONG_CHUNK = 15

/** Choices for a request: three of five are sent once. */
const REPEATS: readonly Repeat[] = ['none', 'none', 'none', 'concurrent', 'response_lost']

/** Virtual milliseconds until the workers of checks are restarted after all of them were killed. */
export const AWAY_MS = 45_000

/** Makes the plan for a seed. */
export function planOf(seed: number, redis: boolean, awayMs = AWAY_MS): Plan {
  const random = createRandom(seed, 'plan')
  const theme = THEMES[seed % THEMES.length] ?? 'any'
  const accounts = Array.from({ length: 2 + random.int(4) }, () => 2_000 + random.int(6_000))
  const { isLarge, delayMs, chunkRecords } = shapeOf(random, theme)
  const repeats = createRandom(seed, 'repeats')
  const batches = planBatches(random, accounts.length, { isLarge, theme }, repeats)
  const requests: readonly PlannedRequest[] = [
    ...batches,
    ...planCalls(random, accounts.length, repeats),
    ...(theme === 'large_cancel' ? LARGE_CANCEL : []),
    ...planChanges(random, batches),
    ...lastBatches(theme, delayMs),
  ].toSorted((one, other) => one.atMs - other.atMs)
  const backend = redis && seed % 2 === 1 ? 'redis' : 'postgres'
  const standstills = planStandstills(
    createRandom(seed, 'standstills'),
    backend === 'redis' ? ['postgres', 'redis'] : ['postgres'],
  )
  return {
    seed,
    backend,
    isPooled: Math.floor(seed / 10) % 2 === 1,
    chunkRecords,
    delayMs,
    accounts,
    requests,
    faults:
      theme === 'no_faults' ? [] : inOrder([...planFaults(random, theme, awayMs), ...standstills]),
  }
}

function inOrder(faults: readonly Fault[]): readonly Fault[] {
  return faults.toSorted((one, other) => one.atMs - other.atMs)
}

/** The size of the first batch, the delay of an engine, and the records per task. */
function shapeOf(
  random: Random,
  theme: Theme,
): { readonly isLarge: boolean; readonly delayMs: number; readonly chunkRecords: number } {
  const isLarge = random.oneIn(3)
  const delayMs = random.pick([0, 50, LONG_DELAY_MS])
  const chunkRecords = isLarge ? 1 : random.pick([1, 3, LONG_CHUNK])
  switch (theme) {
    case 'no_faults':
      return { isLarge, delayMs, chunkRecords: delayMs === LONG_DELAY_MS ? 1 : chunkRecords }
    case 'any':
      return { isLarge, delayMs, chunkRecords }
    case 'workers_away':
      return { isLarge: true, delayMs: Math.max(50, delayMs), chunkRecords: 1 }
    case 'large_cancel':
      return { isLarge: true, delayMs, chunkRecords: 1 }
    case 'lost_saves':
      return { isLarge: false, delayMs: LONG_DELAY_MS, chunkRecords: LONG_CHUNK }
  }
}

/**
 * The first batch is canceled while more of its chunks have tasks than one transaction may change; all of
 * its rows wait, so that no task is done by then.
 */
const LARGE_CANCEL: readonly PlannedChange[] = [
  { kind: 'change', atMs: LARGE_CANCEL_MS, batch: 0, change: 'cancel', again: true },
]

/** Additional rows of that batch, so that its start creates the tasks in several transactions. */
const LARGE_CANCEL_ROWS = 250

/**
 * Plans batches. The first one has more tasks than may be in flight; if it is large, also more than one
 * transaction may change.
 */
function planBatches(
  random: Random,
  accounts: number,
  { isLarge, theme }: { readonly isLarge: boolean; readonly theme: Theme },
  repeats: Random,
): readonly PlannedBatch[] {
  const more = theme === 'large_cancel' ? LARGE_CANCEL_ROWS : 0
  const sizes = [isLarge ? 300 + random.int(60) + more : 40 + random.int(60)]
  for (let count = 2 + random.int(5); count > 0; count--) {
    sizes.push(random.oneIn(3) ? 20 + random.int(60) : 1 + random.int(12))
  }
  return sizes
    .map((rows, at): PlannedBatch => {
      const atMs = at === 0 ? 0 : random.int(ACTIVE_MS)
      const specialEvery = random.oneIn(2) ? 0 : 5 + random.int(20)
      const product = random.pick(['email', 'email', 'ip', 'phone', 'contact-intel'] as const)
      const repeat = repeats.pick(REPEATS)
      const planned = { ...PLAIN, atMs, account: at % accounts, rows, repeat }
      return theme === 'large_cancel' && at === 0
        ? { ...planned, special: 'all_wait' }
        : { ...planned, product, specialEvery }
    })
    .toSorted((one, other) => one.atMs - other.atMs)
}

/** Batches that are submitted after all others, and neither paused nor canceled. */
function lastBatches(theme: Theme, delayMs: number): readonly PlannedBatch[] {
  switch (theme) {
    case 'no_faults':
      return [
        ...LONG_FILES.map((atMs) => ({
          ...PLAIN,
          atMs,
          account: 0,
          rows: 20,
          special: 'long_file' as const,
        })),
        { ...PLAIN, atMs: ACTIVE_MS + 1_000, account: 1, rows: 5 },
        ...(delayMs === LONG_DELAY_MS ? BESIDE_LARGE : []),
      ]
    case 'any':
      return [{ ...PLAIN, atMs: ACTIVE_MS, account: 0, rows: 5, special: 'no_retention' }]
    case 'workers_away':
    case 'large_cancel':
    case 'lost_saves':
      return []
  }
}

const PLAIN = {
  kind: 'batch',
  product: 'email',
  specialEvery: 0,
  special: 'none',
  repeat: 'none',
} as const

/** When long files are submitted by one account: twice as many as all workers read concurrently. */
const LONG_FILES = Array.from({ length: 8 }, (_, at) => ACTIVE_MS + 10 * at)

/**
 * One account submits a large batch and another a small one, then the reverse: unless accounts take turns,
 * a small batch waits for the large one, whichever account is served first.
 */
const BESIDE_LARGE = [0, 1].flatMap((large): readonly PlannedBatch[] => [
  { ...PLAIN, atMs: 45_000 + 30_000 * large, account: large, rows: 300 },
  { ...PLAIN, atMs: 46_000 + 30_000 * large, account: 1 - large, rows: 5 },
])

function planCalls(random: Random, accounts: number, repeats: Random): readonly PlannedCall[] {
  return Array.from({ length: 5 + random.int(15) }, (_, at) => {
    const check = random.pick(CHECKS)
    const subject = subjectOf(check, `call${at}`)
    return {
      kind: 'call',
      atMs: random.int(ACTIVE_MS),
      account: random.int(accounts),
      check,
      subject,
      repeat: repeats.pick(REPEATS),
    }
  })
}

function planChanges(random: Random, batches: readonly PlannedBatch[]): readonly PlannedChange[] {
  return batches.flatMap(({ atMs }, batch): readonly PlannedChange[] => {
    const then = atMs + random.int(8_000)
    const again = random.oneIn(3)
    switch (random.int(6)) {
      case 0:
        return [{ kind: 'change', atMs: then, batch, change: 'cancel', again }]
      case 1: {
        const later = then + 500 + random.int(15_000)
        const change = random.oneIn(4) ? 'cancel' : 'resume'
        return [
          { kind: 'change', atMs: then, batch, change: 'pause', again },
          { kind: 'change', atMs: later, batch, change, again },
        ]
      }
      default:
        return []
    }
  })
}

/** The subject of a row or call. */
export function subjectOf(check: Check, name: string): string {
  const digits = [...name].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 9_999_999, 7)
  switch (check) {
    case 'email':
      return `${name}@company${digits % 97}.example`
    case 'phone':
      return `+1415${String(2_000_000 + (digits % 8_000_000)).padStart(7, '0')}`
    case 'ip':
      return `8.${digits % 250}.${(digits >> 8) % 250}.${1 + ((digits >> 4) % 250)}`
    case 'domain':
      return `${name}-company.example`
  }
}
