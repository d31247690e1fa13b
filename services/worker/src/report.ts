import { hostname } from 'node:os'
import type { EngineHealth } from '@plumbline/ports/engine'
import { forgetWorker, REPORT_MS, reportWorker, type WorkerKind } from '@plumbline/db/workers'
import type { WorkerContext } from './context.ts'

/** What a worker serves, and how to ask how it is doing. */
export interface Reporter {
  readonly kind: WorkerKind
  health(): Promise<readonly EngineHealth[]>
}

/**
 * Tells the operator's pages and the doctor that this worker lives, and how what it leans on is doing;
 * again and again until disposed. A row that turns bad is logged once.
 */
export function reportHealth(
  { connections, log }: WorkerContext,
  reporters: readonly Reporter[],
): AsyncDisposable {
  const name = `${hostname()}:${process.pid}`
  const told = new Map<string, string>()
  const stop = new AbortController()
  async function report({ kind, health }: Reporter): Promise<void> {
    const rows = await health()
    for (const row of rows) {
      const key = `${kind} ${row.name}`
      if (row.status !== 'ok' && row.status !== 'off' && told.get(key) !== row.status) {
        log.warn({ check: kind, status: row.status }, `${row.name}: ${row.detail}`)
      }
      told.set(key, row.status)
    }
    if (!stop.signal.aborted) await reportWorker(connections.db, { name, kind, health: rows })
  }
  /** That it lives is told before what it leans on is looked at, which may take long. */
  async function reportLife(): Promise<void> {
    const rows = reporters.map(({ kind }) =>
      reportWorker(connections.db, { name, kind, health: [] }),
    )
    for (const row of await Promise.allSettled(rows)) {
      if (row.status === 'rejected') log.warn({ err: row.reason as unknown }, 'no report made')
    }
  }
  async function reportAll(): Promise<void> {
    const rounds = await Promise.allSettled(reporters.map(report))
    for (const round of rounds) {
      if (round.status === 'rejected') log.warn({ err: round.reason as unknown }, 'no report made')
    }
  }
  let busy = false
  async function tick(): Promise<void> {
    if (busy) return
    busy = true
    await reportAll()
    busy = false
  }
  void reportLife().then(tick)
  const timer = setInterval(() => void tick(), REPORT_MS)
  timer.unref()
  return {
    async [Symbol.asyncDispose]() {
      stop.abort()
      clearInterval(timer)
      await forgetWorker(connections.db, name).catch((error: unknown) => {
        log.warn({ err: error }, 'still shown as living for a while')
      })
    },
  }
}
