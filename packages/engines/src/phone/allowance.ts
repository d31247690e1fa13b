import type { Budget, Lease, Limiter, Spending } from '@plumbline/contract/engine'
import type { HlrClock, HlrPolicy, HlrProviderSettings, Lane } from './policy.ts'
import { budgetName } from './standing.ts'

/** What a provider allows, and the operator. */
export interface AllowanceOptions {
  readonly limiter: Limiter
  /** Counts what is bought against the cap of a day; must outlive a crash of its server. */
  readonly budget: Budget
  readonly policy: HlrPolicy
  readonly clock: HlrClock
  /** Ends the waiting. */
  readonly signal: AbortSignal
}

/** Share of a provider's places that lists leave to single calls. */
const LIVE_SHARE = 0.2
/** How long a place at a provider stays taken when its worker is killed; renewed three times in it. */
const SLOT_MS = 6_000
/** Pause between two looks for a place. */
const LOOK_MS = 250

/** A place at the provider, waited for as long as a request may take; null where none came free. */
export async function takeSlot(
  { limiter, policy, clock, signal }: AllowanceOptions,
  provider: HlrProviderSettings,
  lane: Lane,
): Promise<{ release(): Promise<void> } | null> {
  const deadline = clock.now() + policy.timeoutMs
  const kept = lane === 'bulk' ? Math.floor(policy.concurrency * LIVE_SHARE) : 0
  const limit = Math.max(1, policy.concurrency - kept)
  for (;;) {
    const lease = await limiter.lease(`hlr:slot:${provider.name}`, limit, SLOT_MS)
    if (lease.granted) return keptUp(clock, lease)
    if (clock.now() >= deadline || signal.aborted) return null
    await clock.wait(Math.min(lease.retryMs, LOOK_MS), signal)
  }
}

/** A place renewed until it is let go of. */
function keptUp(clock: HlrClock, lease: GrantedLease): { release(): Promise<void> } {
  const renewals = clock.every(SLOT_MS / 3, () => {
    // A place lost all the same (its server forgot it) only lets one request more through.
    lease.renew().catch(() => undefined)
  })
  return {
    release: async () => {
      renewals[Symbol.dispose]()
      await lease.release()
    },
  }
}

type GrantedLease = Extract<Lease, { readonly granted: true }>

/** Whether its turn came within the time that a request may take. */
export async function takeRate(
  { limiter, policy, clock, signal }: AllowanceOptions,
  provider: HlrProviderSettings,
): Promise<boolean> {
  const deadline = clock.now() + policy.timeoutMs
  const rate = { perSecond: policy.perSecond, burst: Math.max(1, policy.perSecond) }
  for (;;) {
    const grant = await limiter.take(`hlr:rate:${provider.name}`, 1, rate)
    if (grant.granted) return true
    if (clock.now() + grant.retryMs > deadline || signal.aborted) return false
    await clock.wait(grant.retryMs, signal)
  }
}

/** How many numbers the day's cap still allows, taken at once. */
export async function takeDay(
  { budget, policy }: AllowanceOptions,
  provider: HlrProviderSettings,
  count: number,
): Promise<Spending> {
  if (policy.dailyCap === null || count === 0) return { count, giveBack: async () => undefined }
  return budget.take(budgetName(provider.name), count, policy.dailyCap)
}
