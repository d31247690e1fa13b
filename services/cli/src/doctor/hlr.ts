import { readHlrAccounts } from '@plumbline/phone/hlr/accounts'
import { signIn } from '@plumbline/phone/hlr/sign-in'
import { fetchBounded } from '@plumbline/net/http'
import type { Network } from '../network.ts'
import { attempt, ok, trouble, type Finding } from './finding.ts'
import type { DoctorSettings } from './settings.ts'

const TIMEOUT_MS = 10_000

/** Signs in at each HLR provider without buying anything. */
export async function examineHlr(
  { egress, resolver }: Network,
  settings: DoctorSettings,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  if (settings.HLR_PROVIDER.length === 0) {
    const detail = 'no provider: phones are answered by the numbering plan alone'
    return [trouble('hlr', 'off', detail, 'Set HLR_PROVIDER, HLR_KEY and HLR_SECRET.')]
  }
  return await attempt('hlr', 'Correct the HLR settings.', async () => {
    const accounts = readHlrAccounts({
      providers: settings.HLR_PROVIDER,
      urls: settings.HLR_URL,
      keys: settings.HLR_KEY,
      secrets: settings.HLR_SECRET,
    })
    return await Promise.all(
      accounts.map(async (account): Promise<Finding> => {
        const name = `hlr ${account.name}`
        const outcome = await signIn({
          provider: account.name,
          account,
          fetch: (request) => fetchBounded({ ...request, egress, resolver }),
          timeoutMs: TIMEOUT_MS,
          signal,
          nowMs: Date.now(),
        })
        switch (outcome.kind) {
          case 'accepted':
            return ok(name, outcome.detail)
          case 'refused':
            return trouble(name, 'failed', outcome.detail, 'Correct HLR_KEY and HLR_SECRET.')
          case 'unclear':
            return trouble(name, 'degraded', outcome.detail, 'Try one paid lookup to be sure.')
          case 'unreachable':
            return trouble(name, 'failed', outcome.detail, 'Check HLR_URL and the way out.')
        }
      }),
    )
  })
}
