import type { Answer, Json } from '@plumbline/contract/outcome'
import type { Finding, Verdict } from './finding.ts'
import { jsonOf, readFinding } from './verdict-cache.ts'
import type { EmailLimits } from './limits.ts'

/** What a subject that came back carries. */
export interface WaitState {
  /** Retries after temporary refusals. */
  readonly tries: number
  /** Whether nothing was heard at a first try. */
  readonly silent: boolean
  /** Since when it waits at all, milliseconds since the epoch; 0 for not yet. */
  readonly sinceMs: number
  /** The doubtful refusal that it was sent back for; null where there was none. */
  readonly first: Finding | null
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

type LaterAnswer = Answer<'email'> & { readonly kind: 'later' }

/** The answer of a subject that waits; null where it may not wait, or not any more. */
export function laterOf(waiting: Waiting): LaterAnswer | null {
  const { verdict, state, domain, group, limits, nowMs } = waiting
  if (waiting.lane === 'live') return null
  const sinceMs = state.sinceMs === 0 ? nowMs : state.sinceMs
  const { cause, finding } = verdict
  const { reason } = finding
  switch (cause) {
    case 'greylist': {
      const seconds = waiting.scheduleSeconds[state.tries]
      if (seconds === undefined) return null
      const afterMs = verdict.afterMs > 0 ? verdict.afterMs : seconds * 1000
      const next = stateJson({ ...state, tries: state.tries + 1, sinceMs })
      const own = `greylist:${domain}`
      return { kind: 'later', afterMs, group: own, isOwnWait: true, reason, state: next }
    }
    case 'silence': {
      const [seconds] = waiting.scheduleSeconds
      if (seconds === undefined || state.silent) return null
      const next = stateJson({ ...state, silent: true, sinceMs })
      const own = `silence:${domain}`
      return {
        kind: 'later',
        afterMs: seconds * 1000,
        group: own,
        isOwnWait: true,
        reason,
        state: next,
      }
    }
    case 'doubt': {
      if (limits.secondLookMs === 0 || state.first !== null) return null
      const first = { ...finding, atMs: finding.atMs ?? nowMs }
      const next = stateJson({ ...state, sinceMs, first })
      const afterMs = limits.secondLookMs
      return {
        kind: 'later',
        afterMs,
        group: `doubt:${group}`,
        isOwnWait: true,
        reason,
        state: next,
      }
    }
    case 'room':
    case 'guard':
    case 'breaker': {
      const longestMs = cause === 'room' ? limits.rateWaitMs : limits.guardWaitMs
      if (nowMs - sinceMs > longestMs) return null
      return {
        kind: 'later',
        afterMs: Math.max(1, verdict.afterMs === 0 ? limits.soonMs : verdict.afterMs),
        group: cause === 'guard' ? `guard:${domain}` : `mx:${group}`,
        reason,
        state: stateJson({ ...state, sinceMs }),
      }
    }
  }
}

/** What a subject that waits no more ends with, and in how many seconds another try may tell more. */
export function overdue({ verdict, scheduleSeconds, limits }: Waiting): Finding {
  const { finding } = verdict
  if (verdict.cause === 'doubt') return withSecondLook(finding, limits)
  const afterMs = verdict.afterMs > 0 ? verdict.afterMs : (scheduleSeconds[0] ?? 300) * 1000
  return withRetry(finding, afterMs)
}

/** A doubtful refusal as a call that cannot wait is told it. */
export function withSecondLook(finding: Finding, { secondLookMs }: EmailLimits): Finding {
  return secondLookMs === 0 ? finding : withRetry(finding, secondLookMs)
}

function withRetry(finding: Finding, afterMs: number): Finding {
  return {
    ...finding,
    evidence: { ...finding.evidence, retry_after: Math.ceil(afterMs / 1000) },
  }
}

function stateJson({ tries, silent, sinceMs, first }: WaitState): Json {
  return {
    tries,
    since_ms: sinceMs,
    ...(silent ? { silent } : {}),
    ...(first === null ? {} : { first: jsonOf(first) }),
  }
}

/** Reads what `laterOf` wrote; anything else is a first try. */
export function waitStateOf(value: Json | undefined): WaitState {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return FIRST_TRY
  const held = value as { readonly [key: string]: Json }
  const { tries, since_ms: sinceMs } = held
  return {
    tries: typeof tries === 'number' && tries >= 0 ? tries : 0,
    silent: held['silent'] === true,
    sinceMs: typeof sinceMs === 'number' && sinceMs >= 0 ? sinceMs : 0,
    first: readFinding(held['first']) ?? null,
  }
}

/** The state of a subject that has not waited. */
const FIRST_TRY: WaitState = { tries: 0, silent: false, sinceMs: 0, first: null }
