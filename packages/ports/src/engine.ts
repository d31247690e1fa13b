import type { Json, Outcome } from '@plumbline/contract/outcome'
import type { Check, Depth } from '@plumbline/contract/products'

/** One run of an engine over many subjects. Engines see no batch, credit or queue. */
export interface EngineRequest<C extends Check> {
  /** Subjects in normal form (a malformed email as it came). */
  readonly subjects: readonly string[]
  /** What `Later.state` held for each subject; absent on the first try. */
  readonly states?: readonly (Json | undefined)[]
  readonly depth: Depth
  /** `live` must end within its deadline and never answers `later`; `bulk` may. */
  readonly lane: 'live' | 'bulk'
  /** Opaque name of the account that asks: guards count by it, and what is remembered may be kept apart by it. Never shown or logged. */
  readonly tenant: string
  /** Ends the run: what is unanswered by then is unknown with reason `timeout`. */
  readonly signal: AbortSignal
  /**
   * Once it fires nothing new is begun: what is being bought is awaited and answered, the rest comes back
   * as `later`. Fires for checks whose answers are bought (`PURCHASED_CHECKS`); others are aborted.
   */
  readonly drain?: AbortSignal
  /**
   * Called when whoever is asked about a subject has answered something, so that it does not count as slow;
   * by engines that wait for others for seconds, as often as they hear of them.
   */
  readonly heard?: (index: number) => void
  /**
   * Called once for each subject as soon as its answer is known, in any order; with the group that it was asked
   * at the pace of, by its name in `Later`, where another was asked just now.
   */
  readonly answered?: (index: number, answer: Answer<C>, group?: string) => void
}

/** Answers one kind of check; the answers stand in the order of the subjects. Throws only on a programming error. */
export interface Engine<C extends Check> extends AsyncDisposable {
  readonly check: C
  run(request: EngineRequest<C>): Promise<readonly Answer<C>[]>
  /** The state of what it depends on, for `doctor` and the detail of `/readyz`. */
  health(): Promise<readonly EngineHealth[]>
}

/** A subject whose outcome must wait: its group (MX group, registry) has no room, or it is greylisted. */
export interface Later {
  readonly kind: 'later'
  /** Milliseconds from now. Database time decides when it goes out again. */
  readonly afterMs: number
  /** What it waits for, for example `mx:google` or `rdap:verisign`; subjects of one group wait together. */
  readonly group: string
  /** The wait is this subject's alone: whatever else waits by the same group need not wait as long. */
  readonly isOwnWait?: boolean
  readonly reason: string
  /** Carried back to the engine with the next try, for example `{ "tries": 2, "since": "..." }`. */
  readonly state?: Json
}

/** What an engine answers for one subject: an outcome, or when to come again. */
export type Answer<C extends Check = Check> = Outcome<C> | Later

/** Whether one thing that an engine depends on works. */
export interface EngineHealth {
  readonly name: string
  readonly status: 'ok' | 'degraded' | 'failed' | 'off'
  readonly detail: string
}
