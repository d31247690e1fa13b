import type { Limiter } from '@plumbline/ports/limiter'
import type { EmailLimits } from './limits.ts'
import type { Recipients } from './probe-queue.ts'
import { waitingResult } from './provider-group.ts'
import type { ProviderGroup } from './provider-group.ts'
import { takeRecipientTokens } from './recipient-tokens.ts'
import type { RecipientTokens } from './recipient-tokens.ts'

/** Dependencies of the grant. */
export interface GrantTools {
  readonly limits: EmailLimits
  readonly limiter: Limiter
  /** Called if the group must not be sent anything for a time. */
  readonly holdBack: (group: ProviderGroup, ms: number) => void
  /** Called with each error of the limiter. */
  readonly warn: (error: unknown) => void
}

/** Recipients that may be named in a transaction. */
export interface GrantedRecipients extends Recipients {
  readonly tokens: RecipientTokens
}

/**
 * Takes shared rate-limit tokens for the recipients, or for as many as there are tokens; null if
 * there are none. While the limiter fails there are none: nothing was sent, so the recipients wait.
 */
export async function grantRecipients(
  group: ProviderGroup,
  recipients: Recipients,
  tools: GrantTools,
): Promise<GrantedRecipients | null> {
  const held = { ...recipients }
  try {
    return await grantHeld(group, held, tools)
  } catch (error) {
    tools.warn(error)
    group.queue.putBack(held.probes, held.route)
    tools.holdBack(group, tools.limits.soonMs)
    return null
  }
}

/** The same; rejects if the limiter fails, and `held` then has the probes that were not put back. */
async function grantHeld(
  group: ProviderGroup,
  held: { -readonly [K in keyof Recipients]: Recipients[K] },
  tools: GrantTools,
): Promise<GrantedRecipients | null> {
  const { limits, limiter } = tools
  let tokens: RecipientTokens
  for (;;) {
    const { probes } = held
    // One more for an accept-all probe.
    const extra = probes.some((probe) => probe.depth === 'extended') ? 1 : 0
    const count = Math.min(probes.length + extra, group.limits.bucket.burst)
    const grant = await takeRecipientTokens(tools, group, count)
    if (grant.granted) {
      ;({ tokens } = grant)
      break
    }
    const kept = Math.floor(probes.length / 2)
    group.queue.putBack(probes.slice(kept), held.route)
    held.probes = probes.slice(0, kept)
    if (kept > 0) continue
    tools.holdBack(group, grant.retryMs)
    return null
  }
  const { domain, probes } = held
  const perHour = limits.recipientsPerDomainPerHour
  const bucket = { perSecond: perHour / 3600, burst: Math.max(1, Math.floor(perHour / 4)) }
  const grant = await limiter.take(`email:domain:${domain}`, probes.length, bucket)
  if (grant.granted) return { ...held, tokens }
  const result = waitingResult('guard', Math.max(1000, grant.retryMs))
  for (const probe of [...probes, ...group.queue.drain(domain)]) probe.settle(result)
  return null
}
