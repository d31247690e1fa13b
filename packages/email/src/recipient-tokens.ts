import { setTimeout as wait } from 'node:timers/promises'
import type { Limiter } from '@plumbline/ports/limiter'
import type { GroupLimits } from './limits.ts'

/**
 * Tokens from the rate limit that all workers share for a provider group: one for each recipient that
 * a transaction may name. They expire after `sendWithinMs`.
 */
export interface RecipientTokens {
  /**
   * Uses `count` tokens for recipients that are sent at once. Expired tokens are taken again,
   * waiting at most `sendWithinMs`; false if none are granted by then, or the limiter fails.
   */
  use(count: number): Promise<boolean>
}

/** The tokens, or the milliseconds after which to try again. */
export type RecipientTokensGrant =
  | { readonly granted: true; readonly tokens: RecipientTokens }
  | { readonly granted: false; readonly retryMs: number }

/** Takes `count` tokens from the shared limit of a group; all or none. Rejects if the limiter fails. */
export async function takeRecipientTokens(
  { limiter, warn }: { readonly limiter: Limiter; readonly warn: (error: unknown) => void },
  { key, limits }: { readonly key: string; readonly limits: GroupLimits },
  count: number,
): Promise<RecipientTokensGrant> {
  const { bucket, sendWithinMs } = limits
  // Their age counts from before the request: a grant whose reply was delayed is older than it looks.
  const take = async (wanted: number): Promise<{ untilMs: number; retryMs: number }> => {
    const untilMs = performance.now() + sendWithinMs
    const grant = await limiter.take(`email:recipients:${key}`, wanted, bucket)
    return { untilMs, retryMs: grant.granted ? 0 : Math.max(1, grant.retryMs) }
  }
  let { untilMs, retryMs } = await take(count)
  if (retryMs > 0) return { granted: false, retryMs }
  let left = count
  async function takeAgain(wanted: number): Promise<boolean> {
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
  async function use(wanted: number): Promise<boolean> {
    try {
      return await takeAgain(wanted)
    } catch (error) {
      // Replies that the transaction has brought so far stay valid.
      warn(error)
      return false
    }
  }
  return { granted: true, tokens: { use } }
}
