import type { EngineHealth } from '@plumbline/ports/engine'
import {
  storeHeartbeat,
  HEARTBEAT_MS,
  deleteWorkerReport,
  REPORT_MS,
  reportWorker,
  type TaskCapacity,
  type WorkerKind,
} from '@plumbline/db/workers'
import type { Db } from '@plumbline/db/database'
import type { Log } from '@plumbline/ports/log'

/** The kinds of work of a worker, and the source of its health. */
export interface HealthSource {
  readonly kind: WorkerKind
  /** Concurrent tasks of batches, for a worker of a check. */
  readonly capacity?: TaskCapacity
  health(): Promise<readonly EngineHealth[]>
}

/** The worker that reports, and where to. */
export interface Reporting {
  /** The worker's name. */
  readonly instance: string
  readonly connections: { readonly db: Db }
  readonly log: Log
}

/**
 * Reports to the database that this worker runs, and the health of its dependencies, every
 * `REPORT_MS` until disposed, for the operator's pages and the doctor; and a heartbeat every
 * `HEARTBEAT_MS`, for the dispatcher. A row whose status turns bad is logged once.
 */
export function reportHealth(
  { instance: name, connections, log }: Reporting,
  sources: readonly HealthSource[],
): AsyncDisposable {
  const lastStatus = new Map<string, string>()
  const stop = new AbortController()
  const storing = new Set<Promise<void>>()
  async function store(source: HealthSource, health: readonly EngineHealth[]): Promise<void> {
    const stored = reportWorker(connections.db, { ...source, name, health })
    storing.add(stored)
    await stored.finally(() => storing.delete(stored))
  }
  async function report(source: HealthSource): Promise<void> {
    const { kind } = source
    const rows = await source.health()
    for (const row of rows) {
      const key = `${kind} ${row.name}`
      if (row.status !== 'ok' && row.status !== 'off' && lastStatus.get(key) !== row.status) {
        log.warn({ check: kind, status: row.status }, `${row.name}: ${row.detail}`)
      }
      lastStatus.set(key, row.status)
    }
    if (!stop.signal.aborted) await store(source, rows)
  }
  async function logFailures(reports: readonly Promise<void>[]): Promise<void> {
    for (const report of await Promise.allSettled(reports)) {
      if (report.status === 'rejected')
        log.warn({ err: report.reason as unknown }, 'worker report could not be stored')
    }
  }
  /** Reports the worker before its health is read, which may take long. */
  const reportRunning = (): Promise<void> => logFailures(sources.map((source) => store(source, [])))
  let isReporting = false
  async function tick(): Promise<void> {
    if (isReporting) return
    isReporting = true
    await logFailures(sources.map(report))
    isReporting = false
  }
  void reportRunning().then(tick)
  const timer = setInterval(() => void tick(), REPORT_MS)
  timer.unref()
  /**
   * Sends a heartbeat. If the database has lost the worker's report, as after a crash, it is sent
   * again.
   */
  async function sayAlive(): Promise<void> {
    const known = await storeHeartbeat(connections.db, name)
    if (known < sources.length && !stop.signal.aborted) await reportRunning()
  }
  const beats = setInterval(() => {
    sayAlive().catch((error: unknown) =>
      log.warn({ err: error }, 'worker report could not be stored'),
    )
  }, HEARTBEAT_MS)
  beats.unref()
  return {
    async [Symbol.asyncDispose]() {
      stop.abort()
      clearInterval(timer)
      clearInterval(beats)
      // A report that is stored after the delete would show the worker as live.
      await Promise.allSettled(storing)
      await deleteWorkerReport(connections.db, name).catch((error: unknown) => {
        log.warn({ err: error }, 'worker not unregistered; it is shown as live for a while')
      })
    },
  }
}
