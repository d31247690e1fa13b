import { hostname } from 'node:os'
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
import type { WorkerContext } from './context.ts'

/** The kinds of work of a worker, and the source of its health. */
export interface HealthSource {
  readonly kind: WorkerKind
  /** Concurrent tasks of batches, for a worker of a check. */
  readonly capacity?: TaskCapacity
  health(): Promise<readonly EngineHealth[]>
}

/**
 * Reports to the database that this worker runs, and the health of its dependencies, every
 * `REPORT_MS` until disposed, for the operator's pages and the doctor; and a heartbeat every
 * `HEARTBEAT_MS`, for the dispatcher. A row whose status turns bad is logged once.
 */
export function reportHealth(
  { connections, log }: WorkerContext,
  sources: readonly HealthSource[],
): AsyncDisposable {
  const name = `${hostname()}:${process.pid}`
  const lastStatus = new Map<string, string>()
  const stop = new AbortController()
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
    if (!stop.signal.aborted) {
      await reportWorker(connections.db, { ...source, name, health: rows })
    }
  }
  /** Reports the worker before its health is read, which may take long. */
  async function reportRunning(): Promise<void> {
    const rows = sources.map((source) =>
      reportWorker(connections.db, { ...source, name, health: [] }),
    )
    for (const row of await Promise.allSettled(rows)) {
      if (row.status === 'rejected')
        log.warn({ err: row.reason as unknown }, 'worker report could not be stored')
    }
  }
  async function reportAll(): Promise<void> {
    const rounds = await Promise.allSettled(sources.map(report))
    for (const round of rounds) {
      if (round.status === 'rejected')
        log.warn({ err: round.reason as unknown }, 'worker report could not be stored')
    }
  }
  let isReporting = false
  async function tick(): Promise<void> {
    if (isReporting) return
    isReporting = true
    await reportAll()
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
      await deleteWorkerReport(connections.db, name).catch((error: unknown) => {
        log.warn({ err: error }, 'worker not unregistered; it is shown as live for a while')
      })
    },
  }
}
