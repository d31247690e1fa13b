/** What can be kept for a while longer. */
export interface Renewable {
  /** Extends it; false if it was lost. */
  renew(): Promise<boolean>
}

/** Keeps leases alive, all of them on one timer, so that a store can take the renewals together. */
export interface LeaseRenewal {
  /** Renews the lease until the answer is called; `onLost` is told once where it cannot be kept. */
  keep(lease: Renewable, onLost: () => void): () => void
}

/** How leases are renewed. */
export interface LeaseRenewalOptions {
  /** How long a lease holds without a renewal. */
  readonly leaseMs: number
  /** Time between two renewals; a quarter of `leaseMs` unless given, so that three may be lost. */
  readonly everyMs?: number
  /** A clock in milliseconds. */
  readonly now: () => number
  /** Repeats work until disposed; the timers of the process unless given. */
  readonly every?: (ms: number, work: () => void) => Disposable
  /** Told of a renewal that failed without an answer; the lease is kept until its time is over. */
  readonly warn: (error: unknown) => void
}

interface Kept {
  readonly lease: Renewable
  readonly onLost: () => void
  renewedMs: number
}

/** Its timer runs while something is kept. */
export function createLeaseRenewal(options: LeaseRenewalOptions): LeaseRenewal {
  const { leaseMs, now, warn, every = repeat } = options
  const kept = new Set<Kept>()
  let timer: Disposable | null = null

  function drop(entry: Kept): boolean {
    const isHeld = kept.delete(entry)
    if (kept.size === 0 && timer !== null) {
      timer[Symbol.dispose]()
      timer = null
    }
    return isHeld
  }

  async function renew(entry: Kept): Promise<void> {
    const askedMs = now()
    let isKept: boolean
    try {
      isKept = await entry.lease.renew()
      if (isKept) entry.renewedMs = askedMs
    } catch (error) {
      warn(error)
      // A store that is away for a moment has not given the lease to anybody else.
      isKept = now() - entry.renewedMs < leaseMs
    }
    if (!isKept && drop(entry)) entry.onLost()
  }

  return {
    keep(lease, onLost) {
      const entry: Kept = { lease, onLost, renewedMs: now() }
      kept.add(entry)
      timer ??= every(options.everyMs ?? leaseMs / 4, () => {
        for (const each of kept) void renew(each)
      })
      return () => void drop(entry)
    },
  }
}

function repeat(ms: number, work: () => void): Disposable {
  const timer = setInterval(work, ms)
  return { [Symbol.dispose]: () => clearInterval(timer) }
}
