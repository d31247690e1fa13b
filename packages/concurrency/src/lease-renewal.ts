/** A lease that can be extended. */
export interface Renewable {
  /** Extends the lease; false if it was lost. */
  renew(): Promise<boolean>
}

/** Renews leases, all of them on one timer, so that a store can combine the renewals. */
export interface LeaseRenewal {
  /**
   * Renews the lease until the returned function is called; `onLost` is called once if it cannot be
   * renewed.
   */
  keep(lease: Renewable, onLost: () => void): () => void
}

/** Options of `createLeaseRenewal`. */
export interface LeaseRenewalOptions {
  /** Milliseconds that a lease lasts without a renewal. */
  readonly leaseMs: number
  /**
   * Interval of renewals in milliseconds; default a quarter of `leaseMs`, so that three may fail.
   */
  readonly everyMs?: number
  /** A clock in milliseconds. */
  readonly now: () => number
  /** Repeats work until disposed; default the timers of the process. */
  readonly every?: (ms: number, work: () => void) => Disposable
  /** Called for a renewal that failed without a result; the lease is kept until it expires. */
  readonly warn: (error: unknown) => void
}

interface Kept {
  readonly lease: Renewable
  readonly onLost: () => void
  renewedMs: number
}

/** Makes a renewer. Its timer runs while there are leases. */
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
      // A store that is unreachable for a moment has not leased to another process meanwhile.
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

/** A lease that is renewed until it is disposed of. */
export interface KeptLease extends Disposable {
  /** Aborts if it cannot be renewed: another process may have it. */
  readonly lost: AbortSignal
}

/** Renews one lease, three times in its lifetime. */
export function keepLease(
  renew: Renewable['renew'],
  { leaseMs, warn }: Pick<LeaseRenewalOptions, 'leaseMs' | 'warn'>,
): KeptLease {
  const lost = new AbortController()
  const now = (): number => performance.now()
  const renewal = createLeaseRenewal({ leaseMs, everyMs: leaseMs / 3, now, warn })
  const drop = renewal.keep({ renew }, () => lost.abort())
  return { lost: lost.signal, [Symbol.dispose]: drop }
}

function repeat(ms: number, work: () => void): Disposable {
  const timer = setInterval(work, ms)
  return { [Symbol.dispose]: () => clearInterval(timer) }
}
