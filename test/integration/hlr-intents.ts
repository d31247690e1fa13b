import { HLR_POLICY } from '@plumbline/phone/policy'
import { intentJson, KEYS, readIntent } from '@plumbline/phone/purchase-records'
import { openConnections } from '@plumbline/pipeline/connections'
import { createInstallationKey } from '@plumbline/pipeline/installation-key'
import { INSTALLATION_KEY } from './email-service.ts'

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

/**
 * Makes the intents of these numbers half a minute older, while no phone worker lives, so that lost
 * purchases are in doubt at once. Whether they are bought again does not depend on it.
 */
export async function endIntents(databaseUrl: string, numbers: readonly string[]): Promise<void> {
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
