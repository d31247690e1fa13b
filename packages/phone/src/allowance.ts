import type { Budget, Lease, Limiter, Spending } from '@plumbline/ports/engine'
import type { Asker, HlrClock, HlrPolicy, HlrProviderSettings } from './policy.ts'
import { accountBudgetName, budgetName } from '@plumbline/ports/provider-status'

/** What a provider allows, and the operator. */
export interface AllowanceOptions {
  readonly limiter: Limiter
  /** Counts what is bought against the cap of a day; must outlive a crash of its server. */
  readonly budget: Budget
  readonly policy: HlrPolicy
  readonly clock: HlrClock
}

/** Share of a provider's places that lists leave to single calls. */
const LIVE_SHARE = 0.2
/** How long a place at a provider stays taken when its worker is killed; renewed three times in it. */
const SLOT_MS = 6_000
/** Pause between two looks for a place. */
const LOOK_MS = 250

/** A place at the provider, waited for as long as a request may take; null where none came free. */
export async function takeSlot(
  { limiter, policy, clock }: AllowanceOptions,
  provider: HlrProviderSettings,
  { lane, stop }: Asker,
): Promise<{ release(): Promise<void> } | null> {
  const deadline = clock.now() + policy.timeoutMs
  const kept = lane === 'bulk' ? Math.floor(policy.concurrency * LIVE_SHARE) : 0
  const limit = Math.max(1, policy.concurrency - kept)
  for (;;) {
    const lease = await limiter.lease(`hlr:slot:${provider.name}`, limit, SLOT_MS)
    if (lease.granted) return keptUp(clock, lease)
    if (clock.now() >= deadline || stop.aborted) return null
    await clock.wait(Math.min(lease.retryMs, LOOK_MS), stop)
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
  { limiter, policy, clock }: AllowanceOptions,
  provider: HlrProviderSettings,
  { stop }: Asker,
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

/** What the caps of a day let through. */
export interface DaySpending extends Spending {
  /** Which cap kept the others back. */
  readonly reached: string
}

/** How many numbers the caps of the day still allow, the account's and the provider's, taken at once. */
export async function takeDay(
  { budget, policy }: AllowanceOptions,
  provider: HlrProviderSettings,
  { tenant }: Asker,
  count: number,
): Promise<DaySpending> {
  const own = await take(budget, accountBudgetName(tenant), count, policy.accountDailyCap)
  const all = await take(budget, budgetName(provider.name), own.count, policy.dailyCap).catch(
    async (error: unknown) => {
      await own.giveBack(own.count).catch(() => undefined)
      throw error
    },
  )
  await own.giveBack(own.count - all.count)
  return {
    count: all.count,
    reached:
      all.count < own.count
        ? 'the spending cap of the day is reached'
        : 'the cap of the day of this account is reached',
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
): Promise<Spending> {
  if (most === null || count === 0) return { count, giveBack: async () => undefined }
  return await budget.take(name, count, most)
}
