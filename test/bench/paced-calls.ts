import { setTimeout as wait } from 'node:timers/promises'
import type { Account, TestService } from '@plumbline/testkit/service'

/**
 * Milliseconds of single calls that are made at a fixed rate, each about another address.
 *
 * @throws if one is refused
 */
export async function timePacedCalls(
  service: TestService,
  account: Account,
  { perSecond, seconds }: { readonly perSecond: number; readonly seconds: number },
  address: () => string,
): Promise<readonly number[]> {
  const times: Promise<number>[] = []
  for (let at = 0; at < perSecond * seconds; at += 1) {
    times.push(timeCall(service, account, address()))
    await wait(1_000 / perSecond)
  }
  return await Promise.all(times)
}

async function timeCall(service: TestService, account: Account, email: string): Promise<number> {
  const startMs = performance.now()
  const response = await service.call(account.liveKey, 'POST', '/v1/email', { email })
  const text = await response.text()
  if (response.status === 200) return performance.now() - startMs
  throw new Error(`a call got ${response.status} ${text}`)
}
