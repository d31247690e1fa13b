import type { Lease } from '@plumbline/ports/engine'

/** A place that was granted. */
export type Granted = Lease & { readonly granted: true }

/** Keeps granted places alive, all of them in one breath, so that a store can take them together. */
export interface Keeper {
  /** Renews the place until it is given back; `onLost` is told once where it cannot be kept. */
  hold(lease: Granted, onLost: () => void): Held
}

/** A place that is kept. */
export interface Held {
  giveBack(): Promise<void>
}

/**
 * A place is held this long without a sign of life, so that a killed worker's is soon free, and is
 * renewed at a quarter of it: three signs may be lost before another can take the place.
 */
export const LEASE_MS = 20_000
const RENEW_MS = LEASE_MS / 4

interface Holding {
  readonly lease: Granted
  readonly onLost: () => void
  renewedMs: number
}

/** Makes a keeper; its timer runs while something is held. */
export function createKeeper(now: () => number, warn: (error: unknown) => void): Keeper {
  const holdings = new Set<Holding>()
  let timer: NodeJS.Timeout | null = null
  const drop = (holding: Holding): boolean => {
    const isHeld = holdings.delete(holding)
    if (holdings.size === 0 && timer !== null) {
      clearInterval(timer)
      timer = null
    }
    return isHeld
  }
  const renew = async (holding: Holding): Promise<void> => {
    const askedMs = now()
    let isKept: boolean
    try {
      isKept = await holding.lease.renew()
      if (isKept) holding.renewedMs = askedMs
    } catch (error) {
      warn(error)
      // A store that is away for a moment has not given the place to anybody else.
      isKept = now() - holding.renewedMs < LEASE_MS
    }
    if (!isKept && drop(holding)) holding.onLost()
  }
  return {
    hold(lease, onLost) {
      const holding: Holding = { lease, onLost, renewedMs: now() }
      holdings.add(holding)
      timer ??= setInterval(() => {
        for (const each of holdings) renew(each).catch(warn)
      }, RENEW_MS)
      return {
        async giveBack() {
          drop(holding)
          await lease.release()
        },
      }
    },
  }
}
