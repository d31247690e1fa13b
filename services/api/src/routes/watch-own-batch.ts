import type { Tx } from '@plumbline/db/database'
import { watchBatchOf } from '@plumbline/db/people/notifications'
import type { Response } from 'express'
import type { Context } from '../context.ts'
import { callerOf } from '../request-context.ts'

/**
 * Records, in the transaction that creates a batch, that the user who made it in the app is notified
 * when it ends; does nothing for a key, or if no mail can be sent.
 */
export async function watchOwnBatch(
  { people }: Pick<Context, 'people'>,
  res: Response,
  tx: Tx,
  batchId: string,
): Promise<void> {
  const { sessionId } = callerOf(res)
  if (sessionId === undefined || !people.settings.hasMail) return
  await watchBatchOf(tx, batchId, sessionId)
}
