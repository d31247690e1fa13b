import { withTimeOut } from '@plumbline/concurrency/time-out'
import type { Db } from '@plumbline/db/database'
import { pingDatabase } from '@plumbline/db/ping'
import type { QueueBackend } from '@plumbline/queue/backend'

/** Whether one dependency of a program works. */
export interface ReadinessCheck {
  readonly name: string
  readonly ok: boolean
  /** For the operator; never public. */
  readonly detail: string
}

/** Time-out of a check, in milliseconds. */
const CHECK_MS = 2_000

/** Checks the database and the queue, which every program needs. */
export async function checkStores(stores: {
  readonly db: Db
  readonly queue: Pick<QueueBackend, 'ping'>
}): Promise<readonly ReadinessCheck[]> {
  return await Promise.all([
    runCheck('database', () => pingDatabase(stores.db)),
    runCheck('queue', () => stores.queue.ping()),
  ])
}

/** Runs a check within its time-out; an error it throws becomes the detail. */
export async function runCheck(name: string, run: () => Promise<unknown>): Promise<ReadinessCheck> {
  try {
    await withTimeOut(CHECK_MS, run(), `no answer within ${CHECK_MS} ms`)
    return { name, ok: true, detail: 'ok' }
  } catch (error) {
    return { name, ok: false, detail: error instanceof Error ? error.message : String(error) }
  }
}
