import type { Db } from '@plumbline/db/database'
import { readWorkers, WORKER_KINDS, type SeenWorker, type WorkerKind } from '@plumbline/db/workers'

/** Whether the whole service has started; once it has, it stays so. */
export interface StartUp {
  /** Throws an error that names what is still missing. */
  check(): Promise<void>
}

/** Conditions of a completed start. */
export interface StartUpOptions {
  readonly db: Db
  /**
   * Resolves once the parent process has written the file by which the command line finds the
   * service.
   */
  readonly found: Promise<void>
  /** Seconds after which workers that have not reported are no longer waited for. */
  readonly waitSeconds: number
}

/**
 * The service has started once the command line can find it and a worker of each kind has reported.
 * If a kind has no worker later, calls of the others continue, and only the admin port shows it.
 */
export function createStartUp({ db, found, waitSeconds }: StartUpOptions): StartUp {
  const startedAt = performance.now()
  let isFound = false
  let isOver = false
  void found.then(() => {
    isFound = true
  })
  return {
    async check() {
      if (isOver) return
      if (!isFound) throw new Error('the service is starting')
      const missing = kindsAway(await readWorkers(db))
      if (missing.length > 0 && performance.now() - startedAt < waitSeconds * 1_000) {
        throw new Error(`no worker runs yet for ${missing.join(', ')}`)
      }
      isOver = true
    },
  }
}

/** Kinds of workers of which none lives. */
export function kindsAway(workers: readonly SeenWorker[]): readonly WorkerKind[] {
  const living = new Set(workers.map(({ kind }) => kind))
  return WORKER_KINDS.filter((kind) => !living.has(kind))
}
