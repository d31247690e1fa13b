import type { Json } from '@plumbline/contract/outcome'
import type { Answer } from '@plumbline/ports/engine'
import type { ProbeResult, ProbeWait } from './probe-result.ts'
import { resultJson, readResult } from './probe-cache.ts'
import type { EmailLimits } from './limits.ts'
import type { OurPart } from './outage.ts'

/** State that a waiting subject carries to its next attempt. */
export interface WaitState {
  /** Retries after temporary refusals. */
  readonly tries: number
  /** Whether no host or name server replied at the first attempt. */
  readonly silent: boolean
  /**
   * When the subject began to wait, in milliseconds since the Unix epoch; 0 if it has not waited.
   */
  readonly sinceMs: number
  /** The refusal that is being rechecked; null if there is none. */
  readonly first: ProbeResult | null
}

/** A subject that must wait: for what, and under which limits. */
export interface Waiting {
  readonly result: ProbeResult
  readonly wait: ProbeWait
  /** The failed component, if the missing reply was our fault. */
  readonly failedPart: OurPart | null
  readonly state: WaitState
  readonly domain: string
  readonly group: string
  readonly lane: 'live' | 'bulk'
  readonly scheduleSeconds: readonly number[]
  readonly limits: EmailLimits
  readonly nowMs: number
}

type LaterAnswer = Answer<'email'> & { readonly kind: 'later' }

/** The `later` answer of a waiting subject; null if it may not wait, or not any longer. */
export function laterOf(waiting: Waiting): LaterAnswer | null {
  const { result, wait, state, domain, group, scheduleSeconds, limits, nowMs } = waiting
  // A call is answered with what is known, or refused if its host was not asked.
  if (waiting.lane === 'live' && wait.cause !== 'slow_share') return null
  const sinceMs = state.sinceMs === 0 ? nowMs : state.sinceMs
  const mayWait = (longestMs: number): boolean => nowMs - sinceMs <= longestMs
  const withOthers = (of: string, afterMs: number, next: Partial<WaitState> = {}): LaterAnswer => ({
    kind: 'later',
    afterMs,
    group: of,
    reason: result.reason,
    state: stateJson({ ...state, sinceMs, ...next }),
  })
  const alone = (...until: Parameters<typeof withOthers>): LaterAnswer => ({
    ...withOthers(...until),
    isOwnWait: true,
  })
  switch (wait.cause) {
    case 'greylist': {
      const seconds = scheduleSeconds[state.tries]
      if (seconds === undefined) return null
      const afterMs = wait.afterMs > 0 ? wait.afterMs : seconds * 1000
      return alone(`greylist:${domain}`, afterMs, { tries: state.tries + 1 })
    }
    case 'no_reply': {
      const [seconds] = scheduleSeconds
      if (seconds === undefined) return null
      const afterMs = seconds * 1000
      if (waiting.failedPart !== null) {
        if (!mayWait(limits.guardWaitMs)) return null
        return withOthers(silenceGroupOf(waiting.failedPart), Math.min(TRIAL_MS, afterMs))
      }
      return state.silent ? null : alone(`no_reply:${domain}`, afterMs, { silent: true })
    }
    case 'recheck': {
      if (limits.recheckMs === 0 || state.first !== null) return null
      const first = { ...result, atMs: result.atMs ?? nowMs }
      return alone(`recheck:${group}`, limits.recheckMs, { first })
    }
    case 'rate_limit':
    case 'slow_share':
    case 'guard':
    case 'blocked': {
      if (!mayWait(wait.cause === 'rate_limit' ? limits.rateWaitMs : limits.guardWaitMs))
        return null
      const of = wait.cause === 'guard' ? `guard:${domain}` : waitingGroupOf(group)
      return withOthers(of, Math.max(1, wait.afterMs === 0 ? limits.soonMs : wait.afterMs))
    }
  }
}

/** The waiting group of subjects that wait for the limits of a provider group. */
export function waitingGroupOf(group: string): string {
  return `mx:${group}`
}

/** Milliseconds between two tests whether a failed component of ours works again. */
const TRIAL_MS = 30_000

/**
 * The waiting group of all subjects that got no reply because our own resolver or network failed
 * (`silence:` in the database): a few are tried before all others, which does not count as a retry.
 */
function silenceGroupOf(failedPart: OurPart): string {
  return `silence:${failedPart}`
}

/**
 * The final result of a subject that stops waiting, with the seconds after which another try may
 * help.
 */
export function overdue({ result, wait, scheduleSeconds, limits }: Waiting): ProbeResult {
  if (wait.cause === 'recheck') return withRecheckTime(result, limits)
  const afterMs = wait.afterMs > 0 ? wait.afterMs : (scheduleSeconds[0] ?? 300) * 1000
  return withRetry(result, afterMs)
}

/**
 * A refusal that needs a recheck, for a call that cannot wait: with the seconds until another try.
 */
export function withRecheckTime(result: ProbeResult, { recheckMs }: EmailLimits): ProbeResult {
  return recheckMs === 0 ? result : withRetry(result, recheckMs)
}

function withRetry(result: ProbeResult, afterMs: number): ProbeResult {
  return {
    ...result,
    evidence: { ...result.evidence, retry_after: Math.ceil(afterMs / 1000) },
  }
}

function stateJson({ tries, silent, sinceMs, first }: WaitState): Json {
  return {
    tries,
    since_ms: sinceMs,
    ...(silent ? { silent } : {}),
    ...(first === null ? {} : { first: resultJson(first) }),
  }
}

/** Parses what `laterOf` wrote; anything else is a first try. */
export function waitStateOf(value: Json | undefined): WaitState {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return FIRST_TRY
  const held = value as { readonly [key: string]: Json }
  const { tries, since_ms: sinceMs } = held
  return {
    tries: typeof tries === 'number' && tries >= 0 ? tries : 0,
    silent: held['silent'] === true,
    sinceMs: typeof sinceMs === 'number' && sinceMs >= 0 ? sinceMs : 0,
    first: readResult(held['first']) ?? null,
  }
}

/** The state of a subject that has not waited. */
const FIRST_TRY: WaitState = { tries: 0, silent: false, sinceMs: 0, first: null }
