import type { Grant, Limiter } from '@plumbline/ports/limiter'
import { setTimeout as wait } from 'node:timers/promises'

/** Maximum age of the shared limiter's last reply on a bucket. */
const HEARD_MS = 1_000

/** Milliseconds of grants that are reported to the shared limiter in one message. */
const REPORT_EVERY_MS = 20

/** Buckets kept at most. */
const KNOWN_MAX = 50_000

interface Bucket {
  /**
   * Tokens left by the last reply of the shared limiter, less those granted here since, plus
   * refills.
   */
  left: number
  leftAt: number
  heardAt: number
  /** Tokens granted here and not reported yet. */
  owed: number
  telling: boolean
}

/**
 * Grants at once while more than half of a burst is left, and reports to the shared limiter
 * afterwards, so that a call need not wait for it; closer to the limit the shared limiter decides.
 * Unreported grants are settled before more are given, so all processes together exceed a limit by
 * half a burst each at most, and the excess is deducted afterwards.
 */
export function createOptimisticLimiter(
  shared: Pick<Limiter, 'take'>,
  onError: (error: unknown) => void,
  { now = () => performance.now(), rest = reportInterval }: Partial<Clockwork> = {},
): Pick<Limiter, 'take'> {
  let known = new Map<string, Bucket>()

  function bucketOf(key: string): Bucket {
    const held = known.get(key)
    if (held !== undefined) return held
    if (known.size >= KNOWN_MAX) known = new Map()
    const heardAt = Number.NEGATIVE_INFINITY
    const bucket = { left: 0, leftAt: heardAt, heardAt, owed: 0, telling: false }
    known.set(key, bucket)
    return bucket
  }

  /** Takes from the shared limiter, together with the unreported grants. */
  async function settle(key: string, count: number, rate: Rate): Promise<Grant> {
    const bucket = bucketOf(key)
    const { owed } = bucket
    bucket.owed = 0
    const grant = await shared.take(key, Math.min(owed + count, rate.burst), rate)
    if (!grant.granted) bucket.owed += owed
    bucket.left = (grant.remaining ?? 0) - bucket.owed
    bucket.heardAt = now()
    bucket.leftAt = bucket.heardAt
    return grant
  }

  async function tell(key: string, rate: Rate): Promise<void> {
    const bucket = bucketOf(key)
    if (bucket.telling) return
    bucket.telling = true
    try {
      // What the shared limiter refuses stays owed until a call settles it.
      let paid = true
      while (paid && bucket.owed > 0) {
        await rest()
        // A call may have settled all in the meantime.
        if (bucket.owed > 0) paid = (await settle(key, 0, rate)).granted
      }
    } finally {
      bucket.telling = false
    }
  }

  return {
    take: async (key, count, rate) => {
      const bucket = bucketOf(key)
      const at = now()
      if (at - bucket.heardAt > HEARD_MS) return await settle(key, count, rate)
      const refilled = bucket.left + ((at - bucket.leftAt) * rate.perSecond) / 1_000
      bucket.left = Math.min(rate.burst, refilled)
      bucket.leftAt = at
      const plenty = rate.burst / 2
      if (bucket.left - count < plenty || bucket.owed + count > plenty) {
        return await settle(key, count, rate)
      }
      bucket.left -= count
      bucket.owed += count
      tell(key, rate).catch(onError)
      return { granted: true, remaining: Math.floor(bucket.left) }
    },
  }
}

interface Clockwork {
  /** A monotonic clock, in milliseconds. */
  readonly now: () => number
  /** Resolves when the grants are to be reported. */
  readonly rest: () => Promise<void>
}

const reportInterval = (): Promise<void> => wait(REPORT_EVERY_MS, undefined, { ref: false })

type Rate = Parameters<Limiter['take']>[2]
