import { HLR_POLICY } from '@plumbline/phone/policy'
import { intentJson, KEYS, readIntent } from '@plumbline/phone/purchase-records'
import { openConnections } from '@plumbline/pipeline/connections'
import { createInstallationKey } from '@plumbline/pipeline/installation-key'
import { INSTALLATION_KEY } from './email-service.ts'

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

/**
 * Makes the recorded intents to buy these numbers expire, while no phone worker runs, so that lost
 * purchases count as in doubt at once and not after half a minute.
 */
export async function expireIntents(
  databaseUrl: string,
  numbers: readonly string[],
): Promise<void> {
  await using connections = await openConnections({
    databaseUrl,
    redisUrl: undefined,
    installationKey: createInstallationKey(INSTALLATION_KEY),
    poolSize: 2,
    name: 'test',
    log: silent,
  })
  const { durable } = connections
  const keys = numbers.map(KEYS.intent)
  const intents = await durable.get(keys)
  const entries = keys.flatMap((key, at) => {
    const intent = intents[at]
    if (intent === undefined) return []
    const value = intentJson({ ...readIntent(intent), untilMs: 0 })
    return [{ key, value, ttlMs: HLR_POLICY.cacheMs }]
  })
  await durable.set(entries)
}
