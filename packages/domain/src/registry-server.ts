import type { Memory } from '@plumbline/ports/engine'

/** How a server took a question. */
export type Mood =
  | { readonly kind: 'fine' }
  /** It did not answer: down, overloaded, or out of reach. */
  | { readonly kind: 'silent' }
  /** It refused in a way that may be for the number of questions, or for this one name. */
  | { readonly kind: 'refused' }
  | { readonly kind: 'throttled'; readonly retryMs: number | null }

/** One registry server as this process knows it: its limits, how it took the last questions, its pause. */
export interface RegistryServer {
  readonly name: string
  readonly perSecond: number
  /** So many questions in so long a time. */
  readonly window: { readonly questions: number; readonly ms: number }
  pause: { until: number; why: 'throttled' | 'silent' }
  lookedAt: number
  /** Silences and refusals in a row. */
  misses: number
  pauses: number
}

/** What pauses are kept in and judged by. */
export interface PauseSettings {
  readonly memory: Memory
  /** Milliseconds since 1970. */
  readonly now: () => number
}

/** Silences, and refusals, in a row until a server is left alone, and for how long at first. */
const SILENCES = 5
const REFUSALS = 3
const SILENT_PAUSE_MS = 30_000
const THROTTLED_PAUSE_MS = 60_000
const MAX_PAUSE_MS = 3_600_000
/** How old a look at the pauses of other workers may be. */
const PAUSE_LOOK_MS = 1_000
const SECOND_MS = 1_000

/** A server that nothing is known of yet; one of less than one question a second has a longer window. */
export function createRegistryServer(name: string, perSecond: number): RegistryServer {
  return {
    name,
    perSecond,
    window: {
      questions: Math.max(1, Math.floor(perSecond)),
      ms: SECOND_MS / Math.min(1, perSecond),
    },
    pause: { until: 0, why: 'silent' },
    lookedAt: 0,
    misses: 0,
    pauses: 0,
  }
}

/** Takes in how a question went: a word of limits, or many misses, end in a pause that every worker keeps. */
export async function learn(
  server: RegistryServer,
  mood: Mood,
  settings: PauseSettings,
): Promise<void> {
  if (mood.kind === 'fine') {
    server.misses = 0
    server.pauses = 0
    return
  }
  server.misses++
  if (mood.kind === 'silent' && server.misses < SILENCES) return
  if (mood.kind === 'refused' && server.misses < REFUSALS) return
  const first = mood.kind === 'silent' ? SILENT_PAUSE_MS : THROTTLED_PAUSE_MS
  const asked = mood.kind === 'throttled' ? mood.retryMs : null
  const ms = Math.min(MAX_PAUSE_MS, asked ?? first * 2 ** server.pauses)
  server.pauses++
  server.misses = 0
  const why = mood.kind === 'silent' ? 'silent' : 'throttled'
  server.pause = { until: settings.now() + ms, why }
  await settings.memory.set([
    { key: `domain:pause:${server.name}`, value: { ...server.pause }, ttlMs: Math.max(1, ms) },
  ])
}

/** Whether the server is to be left alone now, by what any worker learnt. */
export async function isPaused(server: RegistryServer, settings: PauseSettings): Promise<boolean> {
  const now = settings.now()
  if (now - server.lookedAt >= PAUSE_LOOK_MS) {
    server.lookedAt = now
    const [held] = await settings.memory.get([`domain:pause:${server.name}`])
    if (typeof held === 'object' && held !== null && 'until' in held && 'why' in held) {
      const until = Number(held['until'])
      const why = held['why'] === 'throttled' ? 'throttled' : 'silent'
      if (until > server.pause.until) server.pause = { until, why }
    }
  }
  return server.pause.until > now
}
