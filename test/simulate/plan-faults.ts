import type { Random } from '../simnet/random.ts'
import type { ConnectionFault } from './connection-fault.ts'

/** How a connection goes silent; see `ConnectionFault`. */
export const SILENCES = ['silence_request', 'silence_reply', 'silence_listener'] as const

/** Processes of the simulated service. */
export const MEMBERS = ['api-0', 'api-1', 'batch-0', 'batch-1', 'checks-0', 'checks-1'] as const
/** The name of a process. */
export type MemberName = (typeof MEMBERS)[number]

/** A server that processes are connected to. */
type Store = 'postgres' | 'redis'

/** A fault, injected at `atMs` of virtual time; docs/reliability.md describes each kind. */
export type Fault =
  | {
      readonly kind: 'kill'
      readonly atMs: number
      readonly member: MemberName
      readonly backMs: number
    }
  /** All workers of checks are killed at once, as soon as one of them has claimed a task. */
  | { readonly kind: 'kill_claimed'; readonly atMs: number; readonly backMs: number }
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
      readonly store: Store
    }
  | {
      readonly kind: 'connection'
      readonly atMs: number
      readonly member: MemberName
      readonly fault: ConnectionFault
      readonly afterRequests: number
    }
  /** One connection goes silent for `forMs`; null: until its process closes it. */
  | {
      readonly kind: 'silence'
      readonly atMs: number
      readonly member: MemberName
      readonly store: Store
      readonly fault: (typeof SILENCES)[number]
      readonly afterRequests: number
      readonly forMs: number | null
    }
  /** A process is suspended while a statement of its is executed. */
  | {
      readonly kind: 'suspend'
      readonly atMs: number
      readonly member: MemberName
      readonly fault: 'suspend' | 'suspend_round'
      readonly afterRequests: number
      readonly forMs: number
    }
  /** A standby takes over at a request that a process sends `lagMs` after the last commit that it has. */
  | {
      readonly kind: 'promote'
      readonly atMs: number
      readonly member: MemberName
      readonly lagMs: number
      readonly afterRequests: number
      /** Numbers of each sequence that the standby takes for issued beyond those of its rows. */
      readonly numbersAhead: number
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
  /** The file store removes nothing while a batch without retention ends, and for some time after. */
  | { readonly kind: 'stall_removals'; readonly atMs: number; readonly forMs: number }

/** Themes of worlds, by which successive seeds differ; docs/reliability.md describes each. */
export const THEMES = ['no_faults', 'workers_away', 'large_cancel', 'lost_saves', 'any'] as const
/** The theme of a world. */
export type Theme = (typeof THEMES)[number]

/** Virtual time at which a large batch is canceled: its file has been read and its tasks created by then. */
export const LARGE_CANCEL_MS = 8_000

/** Virtual milliseconds in which customers send their requests and faults are injected. */
export const ACTIVE_MS = 20_000

/**
 * The faults of a world.
 *
 * @param awayMs virtual milliseconds until the workers of checks are restarted if all of them are killed
 */
export function planFaults(random: Random, theme: Theme, awayMs: number): readonly Fault[] {
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
        faults.push({ kind: 'connection', atMs, member, fault: 'lose_request', afterRequests })
        break
      case 4:
      case 5:
        faults.push({ kind: 'connection', atMs, member, fault: 'lose_reply', afterRequests })
        break
      case 6:
        faults.push({
          kind: 'connection',
          atMs,
          member: worker,
          fault: 'lose_commit',
          afterRequests,
        })
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
  faults.push(...faultsOf(random, theme, awayMs))
  return faults.toSorted((one, other) => one.atMs - other.atMs)
}

/**
 * The standstills of a world, and the promotion of a standby, of which there is at most one; up to five
 * faults.
 *
 * @param stores the servers of the world
 */
export function planStandstills(random: Random, stores: readonly Store[]): readonly Fault[] {
  const faults: Fault[] = []
  for (let count = random.int(5); count > 0; count--) {
    const atMs = 500 + random.int(ACTIVE_MS)
    const afterRequests = 1 + random.int(40)
    if (random.oneIn(3)) {
      const isRound = random.oneIn(2)
      faults.push({
        kind: 'suspend',
        atMs,
        member: random.pick(isRound ? (['batch-0', 'batch-1'] as const) : MEMBERS),
        fault: isRound ? 'suspend_round' : 'suspend',
        afterRequests: isRound ? 1 + random.int(6) : afterRequests,
        forMs: 2_000 + random.int(40_000),
      })
    } else {
      faults.push({
        kind: 'silence',
        atMs,
        member: random.pick(MEMBERS),
        store: random.pick(stores),
        fault: random.pick(SILENCES),
        afterRequests,
        forMs: random.oneIn(3) ? null : 1_000 + random.int(40_000),
      })
    }
  }
  if (random.oneIn(3)) {
    faults.push({
      kind: 'promote',
      atMs: 500 + random.int(ACTIVE_MS),
      member: random.pick(MEMBERS),
      lagMs: 100 + random.int(4_000),
      afterRequests: 1 + random.int(40),
      numbersAhead: random.pick([0, 1, 3, 32]),
    })
  }
  return faults
}

/** The faults that belong to the theme of a world. */
function faultsOf(random: Random, theme: Theme, awayMs: number): readonly Fault[] {
  switch (theme) {
    case 'no_faults':
      return []
    case 'any':
      return [{ kind: 'stall_removals', atMs: ACTIVE_MS, forMs: 30_000 }]
    // The queue must not grow, and claimed tasks must be processed by the restarted workers.
    case 'workers_away':
      return [{ kind: 'kill_claimed', atMs: 1_000 + random.int(2_000), backMs: awayMs }]
    // The process that cancels the batch is killed meanwhile.
    case 'large_cancel':
      return (['batch-0', 'batch-1'] as const).flatMap((member): readonly Fault[] => [
        {
          kind: 'connection',
          atMs: LARGE_CANCEL_MS,
          member,
          fault: 'lose_reply',
          afterRequests: random.int(40),
        },
        {
          kind: 'kill',
          atMs: LARGE_CANCEL_MS + 100 + random.int(1_000),
          member,
          backMs: 1_000,
        },
      ])
    // Commits of a task's partial outcomes are lost, or their acknowledgements are.
    case 'lost_saves':
      return [
        ...Array.from({ length: 14 }, () => commitFault(random, 'lose_commit', 20)),
        ...Array.from({ length: 6 }, () => commitFault(random, 'lose_acknowledgement', 1)),
      ]
  }
}

function commitFault(random: Random, fault: ConnectionFault, withinRequests: number): Fault {
  return {
    kind: 'connection',
    atMs: random.int(15_000),
    member: random.pick(['checks-0', 'checks-1'] as const),
    fault,
    afterRequests: 1 + random.int(withinRequests),
  }
}

/** Usually seconds, and sometimes days, as of a machine that started with a wrong date. */
function stepOf(random: Random): number {
  const sign = random.oneIn(2) ? 1 : -1
  return random.oneIn(4) ? sign * 2 * 86_400_000 : sign * (1_000 + random.int(20_000))
}
