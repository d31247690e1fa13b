import { checkStores, runCheck, type ReadinessCheck } from '@plumbline/pipeline/readiness-check'
import type { Context } from './context.ts'

/**
 * Checks the conditions of every call: the database and the queue respond, the service has started,
 * and the program is not stopping.
 */
export async function checkReadiness(ctx: Context): Promise<readonly ReadinessCheck[]> {
  const running = runCheck('running', async () => {
    if (ctx.stopping.aborted) throw new Error('the program is stopping')
    await ctx.startUp.check()
  })
  return [...(await checkStores({ db: ctx.callDb, queue: ctx.pipeline.queue })), await running]
}
