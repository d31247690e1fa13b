import type { Memory } from '@plumbline/ports/engine'
import type { Json } from '@plumbline/contract/outcome'
import { HLR_PROVIDERS, type HlrProviderName } from './hlr/provider.ts'
import { KEYS } from './purchase-records.ts'

/** Whether a provider is asked, or why not. */
export interface ProviderStanding {
  readonly provider: HlrProviderName
  /** Why it rests (out of credit, keys refused); null where it is asked. */
  readonly paused: string | null
}

/** How providers stand with all workers; every provider that we speak unless some are named. */
export async function readStandings(
  memory: Memory,
  providers: readonly HlrProviderName[] = HLR_PROVIDERS,
): Promise<readonly ProviderStanding[]> {
  const causes = await memory.get(providers.map((provider) => KEYS.pause(provider)))
  return providers.map((provider, at) => {
    const cause = causes[at]
    return { provider, paused: cause === undefined ? null : pauseWords(cause) }
  })
}

/** Why a provider rests, as it was noted. */
export function pauseWords(cause: Json): string {
  return typeof cause === 'string' ? cause : 'for a reason that is not known'
}

/** The budget of a provider, as it is counted. */
export function budgetName(provider: HlrProviderName): string {
  return `hlr:${provider}`
}

/** How the names of all accounts' budgets begin. */
export const ACCOUNT_BUDGETS = 'hlr:account:'

/** The budget of an account, as it is counted. */
export function accountBudgetName(tenant: string): string {
  return `${ACCOUNT_BUDGETS}${tenant}`
}
