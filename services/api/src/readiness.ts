import { withTimeOut } from '@plumbline/concurrency/time-out'
import { pingDatabase } from '@plumbline/db/ping'
import type { Context } from './context.ts'

/** Whether a thing that calls depend on is there. */
export interface Check {
  readonly name: string
  readonly ok: boolean
  /** For the operator; never public. */
  readonly detail: string
}

/** How long a check may take. */
const CHECK_MS = 2_000

/**
 * Looks at everything that a call needs: the database, the queue, that the service has come up once, and
 * that the program is not stopping.
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

async function check(name: string, look: () => Promise<unknown>): Promise<Check> {
  try {
    await withTimeOut(CHECK_MS, look(), `no answer within ${CHECK_MS} ms`)
    return { name, ok: true, detail: 'ok' }
  } catch (error) {
    return { name, ok: false, detail: error instanceof Error ? error.message : String(error) }
  }
}
