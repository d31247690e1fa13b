import type { Log } from '@plumbline/ports/log'
import { startOrExit } from './start.ts'

/**
 * Runs a program until it is told to stop: SIGTERM, SIGINT, or the loss of the parent that forked
 * it. `start` gets the stop signal and returns what must be closed; closing is bounded by `graceMs`.
 * Where it fails, `program` says why and the process ends.
 */
export async function runUntilStopped(
  options: { program: string; log: Log; graceMs: number },
  start: (stop: AbortSignal) => Promise<AsyncDisposable>,
): Promise<void> {
  const controller = new AbortController()
  const { log } = options
  let deadline: NodeJS.Timeout | undefined
  const stop = (cause: string): void => {
    if (controller.signal.aborted) process.exit(1)
    log.info({ cause }, 'stopping')
    controller.abort()
    // Also of a start that waits for a server which is away.
    deadline = setTimeout(() => {
      log.error({ graceMs: options.graceMs }, 'not closed in time; leaving')
      process.exit(1)
    }, options.graceMs)
  }
  process.once('SIGTERM', () => stop('SIGTERM'))
  process.once('SIGINT', () => stop('SIGINT'))
  process.once('disconnect', () => stop('parent gone'))

  const running = await startOrExit(options.program, () => start(controller.signal))
  if (!controller.signal.aborted) {
    await new Promise<void>((resolve) => {
      controller.signal.addEventListener('abort', () => resolve(), { once: true })
    })
  }
  await running[Symbol.asyncDispose]()
  clearTimeout(deadline)
  log.info({}, 'stopped')
  // Third-party sockets can outlive their close; everything of ours has ended here.
  setTimeout(() => process.exit(0), 250).unref()
}

/** Tells the parent process, where there is one, that this program is ready. */
export function tellReady(facts: Readonly<Record<string, string | number>> = {}): void {
  if (process.send !== undefined) process.send({ ready: true, ...facts })
}

/** Resolves once the parent process has sent this message. */
export async function parentSays(word: string): Promise<void> {
  await new Promise<void>((resolve) => {
    process.on('message', (said) => {
      if (said === word) resolve()
    })
  })
}
