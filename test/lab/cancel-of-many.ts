import { setTimeout as wait } from 'node:timers/promises'
import type { TestService } from '@plumbline/testkit/service'
import { cancelLabBatch, submitBatch } from './load.ts'
import type { Scenario } from './scenario.ts'

const POLL_MS = 100
const WAIT_WITHIN_MS = 3_600_000

/**
 * Cancels a batch in which each record waits for a domain of its own. The fault lasts until the batch has
 * ended; calls of other accounts must stay fast meanwhile.
 */
export const cancelOfMany: Scenario = {
  what: 'a batch of a million waiting tasks canceled',
  // With `--later` records at domains `neverN` wait for ever; the delay is short, so that all wait soon.
  worker: ['email', '--delay=20', '--width=50', '--later'],
  prepare: async ({ loadBalancer, service, other, million }) => {
    const emails = Array.from({ length: million }, (_, row) => `u@never${row}.example`)
    const batch = await submitBatch(loadBalancer, other, emails)
    await untilCount(service, waitingTasks, batch.id, (count) => count >= million)
    return { batches: [batch] }
  },
  inject: async ({ loadBalancer, service }, { batches = [] }) => {
    const canceled = await Promise.all(batches.map((batch) => cancelLabBatch(loadBalancer, batch)))
    for (const { id } of canceled) {
      await untilCount(service, canceledBatches, id, (count) => count === 1)
    }
    return { batches: canceled }
  },
}

const waitingTasks = `select count(*)::int as count from tasks where batch_id = $1 and group_key is not null`
const canceledBatches = `select count(*)::int as count from batches where id = $1 and status = 'canceled'`

async function untilCount(
  { db }: TestService,
  statement: string,
  id: string,
  isEnough: (count: number) => boolean,
): Promise<void> {
  const until = performance.now() + WAIT_WITHIN_MS
  for (;;) {
    const { rows } = await db.pool.query<{ count: number }>(statement, [id])
    const count = rows[0]?.count ?? 0
    if (isEnough(count)) return
    if (performance.now() > until)
      throw new Error(`batch ${id}: count is ${count} after an hour: ${statement}`)
    await wait(POLL_MS)
  }
}
