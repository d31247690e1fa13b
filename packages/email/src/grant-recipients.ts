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
}

/** Recipients that may be named in a transaction. */
export interface GrantedRecipients extends Recipients {
  readonly tokens: RecipientTokens
}

/**
 * Takes shared rate-limit tokens for the recipients, or for as many as there are tokens; null if
 * there are none.
 */
export async function grantRecipients(
  group: ProviderGroup,
  recipients: Recipients,
  tools: GrantTools,
): Promise<GrantedRecipients | null> {
  const { limiter, limits } = tools
  let { probes } = recipients
  let tokens: RecipientTokens
  for (;;) {
    // One more for an accept-all probe.
    const extra = probes.some((probe) => probe.depth === 'extended') ? 1 : 0
    const count = Math.min(probes.length + extra, group.limits.bucket.burst)
    const grant = await takeRecipientTokens(limiter, group, count)
    if (grant.granted) {
      ;({ tokens } = grant)
      break
    }
    const kept = Math.floor(probes.length / 2)
    group.queue.putBack(probes.slice(kept), recipients.route)
    probes = probes.slice(0, kept)
    if (kept > 0) continue
    tools.holdBack(group, grant.retryMs)
    return null
  }
  const perHour = limits.recipientsPerDomainPerHour
  const domainBucket = { perSecond: perHour / 3600, burst: Math.max(1, Math.floor(perHour / 4)) }
  const domain = await limiter.take(
    `email:domain:${recipients.domain}`,
    probes.length,
    domainBucket,
  )
  if (domain.granted) return { ...recipients, probes, tokens }
  const result = waitingResult('guard', Math.max(1000, domain.retryMs))
  for (const probe of [...probes, ...group.queue.drain(recipients.domain)]) probe.settle(result)
  return null
}
