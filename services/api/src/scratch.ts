import { sweepScratch } from '@plumbline/pipeline/sweep-files'

const SWEEP_EVERY_MS = 30 * 60_000

/**
 * Removes from the directory of uploads on their way in what killed processes of this machine left, at
 * once and now and then again: the worker of lists does so, too, but may run on another machine.
 */
export function keepSwept(dir: string, onError: (error: unknown) => void): AsyncDisposable {
  let sweeping: Promise<unknown> | undefined
  const sweep = (): void => {
    sweeping ??= sweepScratch(dir)
      .catch(onError)
      .finally(() => {
        sweeping = undefined
      })
  }
  sweep()
  const timer = setInterval(sweep, SWEEP_EVERY_MS)
  timer.unref()
  return {
    [Symbol.asyncDispose]: async () => {
      clearInterval(timer)
      await sweeping
    },
  }
}
