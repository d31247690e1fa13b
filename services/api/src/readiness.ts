import { withTimeOut } from '@plumbline/concurrency/time-out'
import { pingDatabase } from '@plumbline/db/ping'
import type { Context } from './context.ts'

/** Whether one dependency of calls works. */
export interface Check {
  readonly name: string
  readonly ok: boolean
  /** For the operator; never public. */
  readonly detail: string
}

/** Time-out of a check. */
const CHECK_MS = 2_000

/**
 * Checks what every call needs: the database, the queue, that the service has started, and that the program
 * is not stopping.
 */
export async function checkReadiness(ctx: Context): Promise<readonly Check[]> {
  return await Promise.all([
    check('database', () => pingDatabase(ctx.db)),
    check('queue', () => ctx.pipeline.queue.ping()),
    check('running', async () => {
      if (ctx.stopping.aborted) throw new Error('the program is stopping')
      await ctx.startUp.check()
    }),
  ])
}

async function check(name: string, run: () => Promise<unknown>): Promise<Check> {
  try {
    await withTimeOut(CHECK_MS, run(), `no answer within ${CHECK_MS} ms`)
    return { name, ok: true, detail: 'ok' }
  } catch (error) {
    return { name, ok: false, detail: error instanceof Error ? error.message : String(error) }
  }
}
