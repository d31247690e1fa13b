import { setTimeout as wait } from 'node:timers/promises'
import type { Limiter } from '@plumbline/ports/limiter'
import type { GroupLimits } from './limits.ts'

/** Recipients that a group's shared limit has granted; each is named soon or not at all. */
export interface Allowance {
  /**
   * Uses so many of them, which must be sent at once. What was granted longer ago than `sendWithinMs`
   * is taken anew, waiting as long at most; false if nothing is granted by then.
   */
  use(count: number): Promise<boolean>
}

/** An allowance, or when to try again. */
export type AllowanceGrant =
  | { readonly granted: true; readonly allowance: Allowance }
  | { readonly granted: false; readonly retryMs: number }

/** Takes so many recipients of a group from its shared limit; all or nothing. */
export async function takeAllowance(
  limiter: Limiter,
  { key, limits }: { readonly key: string; readonly limits: GroupLimits },
  count: number,
): Promise<AllowanceGrant> {
  const { bucket, sendWithinMs } = limits
  // From before the question on, since a grant whose answer comes late is no younger for it.
  const take = async (wanted: number): Promise<{ untilMs: number; retryMs: number }> => {
    const untilMs = performance.now() + sendWithinMs
    const grant = await limiter.take(`email:recipients:${key}`, wanted, bucket)
    return { untilMs, retryMs: grant.granted ? 0 : Math.max(1, grant.retryMs) }
  }
  let { untilMs, retryMs } = await take(count)
  if (retryMs > 0) return { granted: false, retryMs }
  let left = count
  async function use(wanted: number): Promise<boolean> {
    const endMs = performance.now() + sendWithinMs
    while (left < wanted || performance.now() > untilMs) {
      if (wanted > bucket.burst || performance.now() > endMs) return false
      ;({ untilMs, retryMs } = await take(wanted))
      left = retryMs > 0 ? 0 : wanted
      if (performance.now() + retryMs > endMs) return false
      if (retryMs > 0) await wait(retryMs)
    }
    left -= wanted
    return true
  }
  return { granted: true, allowance: { use } }
}
