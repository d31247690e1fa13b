import { join } from 'node:path'
import type { Account } from '@plumbline/testkit/service'
import { bounded, type Figure } from './figure.ts'
import { onBothBackends, type BenchBackend } from './servers.ts'
import { openSilentHosts, untilWaiting, writeDomains, type SilentHosts } from './silent-hosts.ts'
import { uploadBatch, waitForEnd } from './upload.ts'

/** Company domains that are due at the same moment, and the limit until all of them are done. */
const DOMAINS = 60_000
const ALL_MS = 60_000
const OTHERS_RECORDS = 10
const OTHERS_MS = 3_000

/**
 * A batch of company domains that wait while our resolver is down, all in one group (a trial of a few
 * releases all) or each in a group of its own (all are due at once): the time from the resolver's
 * return to the end of the batch, and the longest time of ten records of another account meanwhile.
 * Engines answer at once.
 */
export async function run(): Promise<readonly Figure[]> {
  return await onBothBackends(async (backend) => [
    ...(await measure(backend, 'away')),
    ...(await measure(backend, 'apart')),
  ])
}

async function measure(backend: BenchBackend, word: 'away' | 'apart'): Promise<readonly Figure[]> {
  await using scene = await openSilentHosts(backend, word)
  const { service, dir } = scene
  const list = join(dir, 'list.csv')
  const ten = join(dir, 'ten.csv')
  await writeDomains(list, word, DOMAINS)
  await writeDomains(ten, 'known', OTHERS_RECORDS)
  const account = await service.account({ credits: DOMAINS })
  const other = await service.account({ credits: DOMAINS })
  const { id } = await uploadBatch(service, account, list, 'email')
  await untilWaiting(service, DOMAINS)
  await scene.letReply()
  if (word === 'apart') {
    await service.db.pool.query("update tasks set due_at = now() where group_key like 'guard:%'")
    await service.db.pool.query('update task_groups set next_at = now(), quiet_until = now()')
  }
  const startedMs = performance.now()
  const done = new AbortController()
  const others = othersUntil(scene, other, ten, done.signal)
  await waitForEnd(service, account, id, 200)
  const allMs = performance.now() - startedMs
  done.abort()
  const head = { backend: backend.name, unit: 'ms' }
  const how = word === 'away' ? 'in one group' : 'in 60,000 groups'
  return [
    bounded({ ...head, name: `due-together: 60,000 domains ${how}` }, allMs, ALL_MS),
    bounded(
      { ...head, name: 'due-together: ten records of another account, longest' },
      await others,
      OTHERS_MS,
    ),
  ]
}

/** The longest duration of consecutive batches of another account. */
async function othersUntil(
  { service }: SilentHosts,
  account: Account,
  list: string,
  until: AbortSignal,
): Promise<number> {
  let longestMs = 0
  while (!until.aborted) {
    const startedMs = performance.now()
    const { id } = await uploadBatch(service, account, list, 'email')
    await waitForEnd(service, account, id)
    longestMs = Math.max(longestMs, performance.now() - startedMs)
  }
  return longestMs
}
