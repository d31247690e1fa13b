import type { Log } from '@plumbline/ports/log'
import { startOrExit } from './start.ts'

/**
 * Runs a program until SIGTERM, SIGINT, or the end of the parent process that forked it. A forked
 * program leaves SIGINT to its parent: a terminal sends it to both, and the parent knows the order
 * in which to stop its programs. A second Ctrl-C ends the program at once. `start` gets the stop
 * signal and returns what must be closed; closing is limited to `graceMs`. If it fails, or an error
 * is caught by nothing, that is logged for `program` and the process ends with status 1.
 */
export async function runUntilStopped(
  options: { program: string; log: Log; graceMs: number },
  start: (stop: AbortSignal) => Promise<AsyncDisposable>,
): Promise<void> {
  const controller = new AbortController()
  const { log } = options
  let deadline: NodeJS.Timeout | undefined
  let stoppedAtMs = 0
  const stop = (cause: string): void => {
    if (controller.signal.aborted) {
      if (cause === 'SIGINT' && performance.now() - stoppedAtMs > SAME_PRESS_MS) process.exit(1)
      return
    }
    stoppedAtMs = performance.now()
    log.info({ cause }, 'stopping')
    controller.abort()
    // Also during a start that waits for a server which is down.
    deadline = setTimeout(() => {
      log.error({ graceMs: options.graceMs }, 'not closed in time; exiting')
      process.exit(1)
    }, options.graceMs)
  }
  // Node would print it with all its fields, which may be values of a statement, or a password.
  process.on('uncaughtException', (error) => {
    log.error({ err: error }, 'ended by an error that nothing has caught')
    process.exit(1)
  })
  // Not once: without a listener the next signal would kill the process.
  process.on('SIGTERM', () => stop('SIGTERM'))
  process.on('SIGINT', () => {
    if (!process.connected) stop('SIGINT')
  })
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
  // Third-party sockets can outlive their close; all of our own work has ended here.
  setTimeout(() => process.exit(0), 250).unref()
}

/**
 * Milliseconds within which a second signal counts as the same Ctrl-C: it may arrive twice, from
 * the terminal and from the launcher that forwards it.
 */
const SAME_PRESS_MS = 2_000

/** Tells the parent process, if there is one, that this program is ready. */
export function reportReady(facts: Readonly<Record<string, string | number>> = {}): void {
  if (process.send !== undefined) process.send({ ready: true, ...facts })
}

/** Resolves once the parent process has sent this message. */
export async function parentMessage(word: string): Promise<void> {
  await new Promise<void>((resolve) => {
    process.on('message', (said) => {
      if (said === word) resolve()
    })
  })
}
