import type { Json } from '@plumbline/contract/outcome'
import type { Memory } from './memory.ts'

/** The HLR providers that are supported. */
export const HLR_PROVIDERS = [
  'hlr-lookups',
  'infobip',
  'twilio',
  'vonage',
  'vonage-identity',
  'messente',
] as const
/** Name of a provider, as settings write it. */
export type HlrProviderName = (typeof HLR_PROVIDERS)[number]

/** Whether a provider is used, or why not. */
export interface ProviderStatus {
  readonly provider: HlrProviderName
  /** Why it is paused (no credit, key refused); null if it is in use. */
  readonly paused: string | null
}

/** The status of providers for all workers; of all supported providers unless some are named. */
export async function readProviderStatus(
  memory: Memory,
  providers: readonly HlrProviderName[] = HLR_PROVIDERS,
): Promise<readonly ProviderStatus[]> {
  const causes = await memory.get(providers.map(pauseKey))
  return providers.map((provider, at) => {
    const cause = causes[at]
    return { provider, paused: cause === undefined ? null : pauseReason(cause) }
  })
}

/** Key of the memory entry which says that a provider is paused, and why. */
export function pauseKey(provider: HlrProviderName): string {
  return `hlr:pause:${provider}`
}

/** The reason for the pause, from the memory entry. */
export function pauseReason(cause: Json): string {
  return typeof cause === 'string' ? cause : 'for a reason that is not known'
}

/** The name of a provider's daily budget. */
export function budgetName(provider: HlrProviderName): string {
  return `hlr:${provider}`
}

/** Prefix of the names of all accounts' budgets. */
export const ACCOUNT_BUDGETS = 'hlr:account:'

/** The name of an account's daily budget. */
export function accountBudgetName(account: string): string {
  return `${ACCOUNT_BUDGETS}${account}`
}
