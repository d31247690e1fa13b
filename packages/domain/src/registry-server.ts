import { pauseLeftMs } from '@plumbline/concurrency/pause'
import type { Memory } from '@plumbline/ports/memory'

/** What a query showed about the server, whatever it said of the name. */
export type QueryResult =
  | { readonly kind: 'answered' }
  /** No reply: the server is down, overloaded or unreachable. */
  | { readonly kind: 'silent' }
  /** Refused, because of the number of queries or this one name. */
  | { readonly kind: 'refused'; readonly name: string }
  | { readonly kind: 'throttled'; readonly retryMs: number | null }

/** State of one registry server in this process: its limits, recent results, and pause. */
export interface RegistryServer {
  readonly name: string
  readonly perSecond: number
  /** At most `queries` within any `ms`. */
  readonly window: { readonly queries: number; readonly ms: number }
  pause: { until: number; why: 'throttled' | 'silent' }
  readAt: number
  /** Consecutive queries without a reply or refused. */
  misses: number
  /** Names that were refused among them: each counts once, as the reason may be the name. */
  readonly refused: Set<string>
  pauses: number
}

/** Where pauses are stored, and the clock for them. */
export interface PauseSettings {
  readonly memory: Memory
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number
}

/**
 * Consecutive missing replies, and refusals, until a server is paused, and the first pause; doubled
 * each time.
 */
const SILENCES = 5
const REFUSALS = 3
const SILENT_PAUSE_MS = 30_000
const THROTTLED_PAUSE_MS = 60_000
const MAX_PAUSE_MS = 3_600_000
/** Maximum age of other workers' pauses in the local cache. */
const PAUSE_READ_MS = 1_000
const SECOND_MS = 1_000

/** A server without queries so far; below one query a second the window is longer than a second. */
export function createRegistryServer(name: string, perSecond: number): RegistryServer {
  return {
    name,
    perSecond,
    window: {
      queries: Math.max(1, Math.floor(perSecond)),
      ms: SECOND_MS / Math.min(1, perSecond),
    },
    pause: { until: 0, why: 'silent' },
    readAt: 0,
    misses: 0,
    refused: new Set(),
    pauses: 0,
  }
}

/** Records the result of a query: throttling, or many misses, starts a pause for every worker. */
export async function noteResult(
  server: RegistryServer,
  result: QueryResult,
  settings: PauseSettings,
): Promise<void> {
  if (result.kind === 'answered') {
    server.misses = 0
    server.refused.clear()
    server.pauses = 0
    return
  }
  if (result.kind === 'refused') {
    if (server.refused.has(result.name)) return
    server.refused.add(result.name)
  }
  server.misses++
  if (result.kind === 'silent' && server.misses < SILENCES) return
  if (result.kind === 'refused' && server.misses < REFUSALS) return
  server.misses = 0
  server.refused.clear()
  const now = settings.now()
  const leftMs = pauseMs(server.pause, now)
  // A query that was sent before the pause began is no reason for a longer one.
  const pauses = leftMs > 0 ? Math.max(0, server.pauses - 1) : server.pauses
  server.pauses = pauses + 1
  const first = result.kind === 'silent' ? SILENT_PAUSE_MS : THROTTLED_PAUSE_MS
  const asked = result.kind === 'throttled' ? result.retryMs : null
  const ms = Math.min(MAX_PAUSE_MS, asked ?? first * 2 ** pauses)
  if (ms <= leftMs) return
  const why = result.kind === 'silent' ? 'silent' : 'throttled'
  const pause = { until: now + ms, why } as const
  server.pause = pause
  await readPause(server, settings)
  if (server.pause !== pause) return
  await settings.memory.set([
    { key: `domain:pause:${server.name}`, value: { ...pause }, ttlMs: Math.max(1, ms) },
  ])
}

/** Whether the server is paused now, by this worker or another. */
export async function isPaused(server: RegistryServer, settings: PauseSettings): Promise<boolean> {
  const now = settings.now()
  if (Math.abs(now - server.readAt) >= PAUSE_READ_MS) await readPause(server, settings)
  return pauseMs(server.pause, now) > 0
}

/** Takes over a pause of another worker that ends later. */
async function readPause(server: RegistryServer, settings: PauseSettings): Promise<void> {
  const now = settings.now()
  server.readAt = now
  const [held] = await settings.memory.get([`domain:pause:${server.name}`])
  if (typeof held !== 'object' || held === null || !('until' in held && 'why' in held)) return
  const until = Number(held['until'])
  const why = held['why'] === 'throttled' ? 'throttled' : 'silent'
  if (pauseMs({ until }, now) > pauseMs(server.pause, now)) server.pause = { until, why }
}

/** Milliseconds that are left of a server's pause. */
export function pauseMs({ until }: Pick<RegistryServer['pause'], 'until'>, now: number): number {
  return pauseLeftMs(until, now, MAX_PAUSE_MS)
}
