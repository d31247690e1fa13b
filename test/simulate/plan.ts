import { CHECKS, type Check } from '@plumbline/contract/products'
import { createRandom, type Random } from '../simnet/random.ts'
import type { WireFault } from './wire.ts'

/** Processes of the simulated service. */
export const MEMBERS = ['api-0', 'api-1', 'batch-0', 'batch-1', 'checks-0', 'checks-1'] as const
/** One of them. */
export type MemberName = (typeof MEMBERS)[number]

/** What a batch asks. */
export type BatchProduct = 'email' | 'ip' | 'phone' | 'contact-intel'

/** A batch that a customer hands in. */
export interface PlannedBatch {
  readonly kind: 'batch'
  readonly atMs: number
  readonly account: number
  readonly product: BatchProduct
  readonly rows: number
  /** Of so many rows one must wait for room, for its own time, or breaks its engine; 0 for none. */
  readonly odd: number
}

/** A single call. */
export interface PlannedCall {
  readonly kind: 'call'
  readonly atMs: number
  readonly account: number
  readonly check: Check
  readonly subject: string
}

/** What a customer does with a batch, by its place among the batches; `again` is a repeat of the same. */
export interface PlannedChange {
  readonly kind: 'change'
  readonly atMs: number
  readonly batch: number
  readonly change: 'cancel' | 'pause' | 'resume'
  readonly again: boolean
}

/** What a customer does. */
export type Act = PlannedBatch | PlannedCall | PlannedChange

/** What befalls the service. */
export type Fault =
  | {
      readonly kind: 'kill'
      readonly atMs: number
      readonly member: MemberName
      readonly backMs: number
    }
  | {
      readonly kind: 'freeze'
      readonly atMs: number
      readonly member: MemberName
      readonly forMs: number
    }
  | {
      readonly kind: 'cut'
      readonly atMs: number
      readonly member: MemberName
      readonly store: 'postgres' | 'redis'
    }
  | {
      readonly kind: 'wire'
      readonly atMs: number
      readonly member: MemberName
      readonly fault: WireFault
      readonly afterRequests: number
    }
  | { readonly kind: 'step'; readonly atMs: number; readonly byMs: number }
  | { readonly kind: 'empty_queue'; readonly atMs: number }
  | { readonly kind: 'double_jobs'; readonly atMs: number; readonly forMs: number }
  | {
      readonly kind: 'stall_storage'
      readonly atMs: number
      readonly member: MemberName
      readonly forMs: number
    }

/** A world and what happens in it. The same for a seed, always. */
export interface Plan {
  readonly seed: number
  readonly backend: 'postgres' | 'redis'
  readonly chunkRecords: number
  /** What an engine takes for a subject. */
  readonly delayMs: number
  /** Credits of each account. */
  readonly accounts: readonly number[]
  readonly acts: readonly Act[]
  readonly faults: readonly Fault[]
}

/** Tasks of such an engine and size last several times as long as outcomes go without a save. */
const LONG_DELAY_MS = 1_200
const LONG_CHUNK = 15

/** How long customers hand things in, and things break. */
const ACTIVE_MS = 20_000

/** Makes the plan of a seed. Every fifth is calm: nothing breaks in it. */
export function planOf(seed: number, redis: boolean): Plan {
  const random = createRandom(seed, 'plan')
  const accounts = Array.from({ length: 2 + random.int(4) }, () => 2_000 + random.int(6_000))
  const isLarge = random.oneIn(3)
  const batches = planBatches(random, accounts.length, isLarge)
  const delayMs = random.pick([0, 50, LONG_DELAY_MS])
  const chunkRecords = isLarge ? 1 : random.pick([1, 3, LONG_CHUNK])
  const hasLongTasks = delayMs === LONG_DELAY_MS && chunkRecords === LONG_CHUNK
  const acts: readonly Act[] = [
    ...batches,
    ...planCalls(random, accounts.length),
    ...planChanges(random, batches),
  ].toSorted((one, other) => one.atMs - other.atMs)
  return {
    seed,
    backend: redis && seed % 2 === 1 ? 'redis' : 'postgres',
    chunkRecords,
    delayMs,
    accounts,
    acts,
    faults: seed % 5 === 0 ? [] : planFaults(random, seed, hasLongTasks),
  }
}

/** The first has more tasks than may be in flight, and a large one more than one transaction may change. */
function planBatches(random: Random, accounts: number, isLarge: boolean): readonly PlannedBatch[] {
  const sizes = [isLarge ? 300 + random.int(60) : 40 + random.int(60)]
  for (let count = 2 + random.int(5); count > 0; count--) {
    sizes.push(random.oneIn(3) ? 20 + random.int(60) : 1 + random.int(12))
  }
  return sizes
    .map((rows, at): PlannedBatch => {
      const atMs = at === 0 ? 0 : random.int(ACTIVE_MS)
      const odd = random.oneIn(2) ? 0 : 5 + random.int(20)
      const product = random.pick(['email', 'email', 'ip', 'phone', 'contact-intel'] as const)
      return { kind: 'batch', atMs, account: at % accounts, product, rows, odd }
    })
    .toSorted((one, other) => one.atMs - other.atMs)
}

function planCalls(random: Random, accounts: number): readonly PlannedCall[] {
  return Array.from({ length: 5 + random.int(15) }, (_, at) => {
    const check = random.pick(CHECKS)
    const subject = subjectOf(check, `call${at}`)
    return {
      kind: 'call',
      atMs: random.int(ACTIVE_MS),
      account: random.int(accounts),
      check,
      subject,
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

function planFaults(random: Random, seed: number, hasLongTasks: boolean): readonly Fault[] {
  const faults: Fault[] = []
  const workers = MEMBERS.filter((name) => !name.startsWith('api'))
  for (let count = 2 + random.int(8); count > 0; count--) {
    const atMs = 500 + random.int(ACTIVE_MS)
    const member = random.pick(MEMBERS)
    const worker = random.pick(workers)
    const afterRequests = 1 + random.int(60)
    switch (random.int(10)) {
      case 0:
        faults.push({ kind: 'kill', atMs, member, backMs: 1_000 + random.int(20_000) })
        break
      case 1:
        faults.push({ kind: 'freeze', atMs, member, forMs: 1_000 + random.int(45_000) })
        break
      case 2:
        faults.push({
          kind: 'cut',
          atMs,
          member,
          store: random.pick(['postgres', 'redis'] as const),
        })
        break
      case 3:
        faults.push({ kind: 'wire', atMs, member, fault: 'lose_request', afterRequests })
        break
      case 4:
      case 5:
        faults.push({ kind: 'wire', atMs, member, fault: 'lose_reply', afterRequests })
        break
      case 6:
        faults.push({ kind: 'wire', atMs, member: worker, fault: 'lose_commit', afterRequests })
        break
      case 7:
        faults.push(
          random.oneIn(2)
            ? { kind: 'empty_queue', atMs }
            : { kind: 'double_jobs', atMs, forMs: 5_000 },
        )
        break
      case 8:
        faults.push({
          kind: 'stall_storage',
          atMs,
          member: worker,
          forMs: 2_000 + random.int(40_000),
        })
        break
      default:
        faults.push({ kind: 'step', atMs, byMs: stepOf(random) })
    }
  }
  // Outcomes that are saved in the midst of a task, and lost.
  for (let count = hasLongTasks ? 14 : 0; count > 0; count--) {
    const member = random.pick(['checks-0', 'checks-1'] as const)
    const afterRequests = 1 + random.int(20)
    faults.push({
      kind: 'wire',
      atMs: random.int(15_000),
      member,
      fault: 'lose_commit',
      afterRequests,
    })
  }
  // Workers of a kind that are away: their queue must not fill.
  if (seed % 5 === 1) {
    const atMs = 2_000 + random.int(5_000)
    for (const member of ['checks-0', 'checks-1'] as const) {
      faults.push({ kind: 'kill', atMs, member, backMs: 45_000 })
    }
  }
  return faults.toSorted((one, other) => one.atMs - other.atMs)
}

/** Seconds most of the time, and now and then days: a machine that came up with a wrong date. */
function stepOf(random: Random): number {
  const sign = random.oneIn(2) ? 1 : -1
  return random.oneIn(4) ? sign * 2 * 86_400_000 : sign * (1_000 + random.int(20_000))
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
