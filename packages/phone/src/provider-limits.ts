import { createLeaseRenewal } from '@plumbline/concurrency/lease-renewal'
import type { Budget, BudgetGrant } from '@plumbline/ports/budget'
import type { Lease, Limiter } from '@plumbline/ports/limiter'
import type { HlrCaller, HlrPolicy, HlrProviderSettings } from './policy.ts'
import type { Clock } from '@plumbline/ports/clock'
import { accountBudgetName, budgetName } from '@plumbline/ports/provider-status'

/** Dependencies of the limits of a provider and of the operator's budgets. */
export interface ProviderLimitsOptions {
  readonly limiter: Limiter
  /** Counts purchases against the daily limits; must survive a crash of its server. */
  readonly budget: Budget
  readonly accountCapOf?: AccountCapOf
  readonly policy: HlrPolicy
  readonly clock: Clock
}

/** Share of a provider's concurrent requests that is reserved for single calls. */
const LIVE_SHARE = 0.2
/** Milliseconds for which a slot's lease survives its worker; renewed three times within it. */
const SLOT_MS = 6_000
/** Milliseconds between two attempts to get a slot, at most. */
const POLL_MS = 250

/**
 * Takes a slot for a concurrent request, waiting as long as a request may take; null if none became
 * free.
 */
export async function takeSlot(
  { limiter, policy, clock }: ProviderLimitsOptions,
  provider: HlrProviderSettings,
  { lane, stop }: HlrCaller,
): Promise<{ release(): Promise<void> } | null> {
  const deadline = clock.now() + policy.timeoutMs
  const kept = lane === 'bulk' ? Math.floor(policy.concurrency * LIVE_SHARE) : 0
  const limit = Math.max(1, policy.concurrency - kept)
  for (;;) {
    const lease = await limiter.lease(`hlr:slot:${provider.name}`, limit, SLOT_MS)
    if (lease.granted) return renewed(clock, lease)
    if (clock.now() >= deadline || stop.aborted) return null
    await clock.wait(Math.min(lease.retryMs, POLL_MS), stop)
  }
}

/** A lease renewed until it is released. */
function renewed(clock: Clock, lease: GrantedLease): { release(): Promise<void> } {
  const { now, every } = clock
  // If the lease is lost nevertheless (its server lost its data), one more request may be sent.
  const ignore = (): void => undefined
  const renewal = createLeaseRenewal({
    leaseMs: SLOT_MS,
    everyMs: SLOT_MS / 3,
    now,
    every,
    warn: ignore,
  })
  const stop = renewal.keep(lease, ignore)
  return {
    release: async () => {
      stop()
      await lease.release()
    },
  }
}

type GrantedLease = Extract<Lease, { readonly granted: true }>

/** Whether the rate limit allowed the request within the time that it may take. */
export async function takeRate(
  { limiter, policy, clock }: ProviderLimitsOptions,
  provider: HlrProviderSettings,
  { stop }: HlrCaller,
): Promise<boolean> {
  const deadline = clock.now() + policy.timeoutMs
  const rate = { perSecond: policy.perSecond, burst: Math.max(1, policy.perSecond) }
  for (;;) {
    const grant = await limiter.take(`hlr:rate:${provider.name}`, 1, rate)
    if (grant.granted) return true
    if (clock.now() + grant.retryMs > deadline || stop.aborted) return false
    await clock.wait(grant.retryMs, stop)
  }
}

/** Limit of one account that overrides the policy's; null if it has none. */
export type AccountCapOf = (account: string) => Promise<number | null>

/** What the daily limits allowed. */
export interface DailySpending extends BudgetGrant {
  /** The limit that refused the rest. */
  readonly reached: string
  /** Whether that is the limit of the account, so that others may still buy. */
  readonly isOwn: boolean
}

/**
 * Takes what both daily limits, the account's and the provider's, still allow of `count` numbers.
 */
export async function takeDailyBudget(
  { budget, policy, accountCapOf }: ProviderLimitsOptions,
  provider: HlrProviderSettings,
  { account }: HlrCaller,
  count: number,
): Promise<DailySpending> {
  const cap = (await accountCapOf?.(account)) ?? policy.accountDailyCap
  const own = await take(budget, accountBudgetName(account), count, cap)
  const all = await take(budget, budgetName(provider.name), own.count, policy.dailyCap).catch(
    async (error: unknown) => {
      await own.giveBack(own.count).catch(() => undefined)
      throw error
    },
  )
  await own.giveBack(own.count - all.count)
  const isOwn = all.count === own.count
  return {
    count: all.count,
    reached: isOwn
      ? 'the cap of the day of this account is reached'
      : 'the spending cap of the day is reached',
    isOwn,
    giveBack: async (unspent) => {
      await Promise.all([own.giveBack(unspent), all.giveBack(unspent)])
    },
  }
}

async function take(
  budget: Budget,
  name: string,
  count: number,
  most: number | null,
): Promise<BudgetGrant> {
  if (most === null || count === 0) return { count, giveBack: async () => undefined }
  return await budget.take(name, count, most)
}
