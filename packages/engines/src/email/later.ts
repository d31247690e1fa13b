import type { Answer, Json } from '@plumbline/contract/outcome'
import type { Finding, Verdict } from './finding.ts'
import type { EmailLimits } from './limits.ts'

/** What a subject that came back carries. */
export interface WaitState {
  /** Retries after temporary refusals. */
  readonly tries: number
  /** Since when it waits at all, milliseconds since the epoch; 0 for not yet. */
  readonly sinceMs: number
}

/** A subject that must wait: for what, and under which rules. */
export interface Waiting {
  readonly verdict: Verdict & { readonly kind: 'wait' }
  readonly state: WaitState
  readonly domain: string
  readonly group: string
  readonly lane: 'live' | 'bulk'
  readonly scheduleSeconds: readonly number[]
  readonly limits: EmailLimits
  readonly nowMs: number
}

/** The answer of a subject that waits; null where it may not wait, or not any more. */
export function laterOf(waiting: Waiting): (Answer<'email'> & { readonly kind: 'later' }) | null {
  const { verdict, state, domain, group, limits, nowMs } = waiting
  if (waiting.lane === 'live') return null
  const sinceMs = state.sinceMs === 0 ? nowMs : state.sinceMs
  const { cause } = verdict
  const reason = verdict.finding.reason
  if (cause === 'greylist') {
    const seconds = waiting.scheduleSeconds[state.tries]
    if (seconds === undefined) return null
    const afterMs = verdict.afterMs > 0 ? verdict.afterMs : seconds * 1000
    const next: Json = { tries: state.tries + 1, since_ms: sinceMs }
    return { kind: 'later', afterMs, group: `greylist:${domain}`, reason, state: next }
  }
  const longestMs = cause === 'room' ? limits.rateWaitMs : limits.guardWaitMs
  if (nowMs - sinceMs > longestMs) return null
  return {
    kind: 'later',
    afterMs: Math.max(1, verdict.afterMs === 0 ? limits.soonMs : verdict.afterMs),
    group: cause === 'guard' ? `guard:${domain}` : `mx:${group}`,
    reason,
    state: { tries: state.tries, since_ms: sinceMs },
  }
}

/** What a subject that waits no more ends with: unknown, and when another try may succeed. */
export function overdue(waiting: Waiting): Finding {
  const { verdict, scheduleSeconds } = waiting
  const afterMs = verdict.afterMs > 0 ? verdict.afterMs : (scheduleSeconds[0] ?? 300) * 1000
  const evidence = { ...verdict.finding.evidence, retry_after: Math.ceil(afterMs / 1000) }
  return { ...verdict.finding, evidence }
}

/** Reads what `laterOf` wrote; anything else is a first try. */
export function waitStateOf(value: Json | undefined): WaitState {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return FIRST_TRY
  const held = value as { readonly [key: string]: Json }
  const { tries, since_ms: sinceMs } = held
  return {
    tries: typeof tries === 'number' && tries >= 0 ? tries : 0,
    sinceMs: typeof sinceMs === 'number' && sinceMs >= 0 ? sinceMs : 0,
  }
}

/** The state of a subject that has not waited. */
const FIRST_TRY: WaitState = { tries: 0, sinceMs: 0 }
