import type { Db } from '@plumbline/db/database'
import { readWorkers, WORKER_KINDS, type WorkerKind } from '@plumbline/db/workers'

/** Whether the service around this program has come up; once it has, it stays so. */
export interface StartUp {
  /** Throws with what is still missing. */
  check(): Promise<void>
}

/** What a start waits for. */
export interface StartUpOptions {
  readonly db: Db
  /** Settles once whoever started this program has made the service findable. */
  readonly found: Promise<void>
  /** Kinds of workers that have not come by then are no longer waited for: the others serve. */
  readonly waitSeconds: number
}

/**
 * A start is over once the command line finds the service and a worker of each kind lives. A kind that goes
 * away later keeps no caller from the others, and shows on the admin port alone.
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
      const missing = await kindsAway(db)
      if (missing.length > 0 && performance.now() - startedAt < waitSeconds * 1_000) {
        throw new Error(`no worker lives yet for ${missing.join(', ')}`)
      }
      isOver = true
    },
  }
}

/** Kinds that no living worker serves. */
export async function kindsAway(db: Db): Promise<readonly WorkerKind[]> {
  const living = new Set((await readWorkers(db)).map(({ kind }) => kind))
  return WORKER_KINDS.filter((kind) => !living.has(kind))
}
