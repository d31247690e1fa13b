import type { Json, Outcome } from '@plumbline/contract/outcome'
import type { Check, Depth } from '@plumbline/contract/products'

/** One run of an engine over many subjects. Engines know no batches, credits or queues. */
export interface EngineRequest<C extends Check> {
  /** Subjects in normal form (a malformed email unchanged). */
  readonly subjects: readonly string[]
  /** Value of `Later.state` for each subject; absent on the first try. */
  readonly states?: readonly (Json | undefined)[]
  readonly depth: Depth
  /**
   * `live` must end within its deadline, and returns `later` only for a subject that it could not
   * ask about, since its group does not reply and has as many callers waiting as it may: the call is
   * refused. `bulk` returns it for whatever must wait.
   */
  readonly lane: 'live' | 'bulk'
  /**
   * Opaque name of the account: rate limits apply to it, and cached facts may be kept apart by it.
   * Never shown or logged.
   */
  readonly account: string
  /** Ends the run: subjects without an outcome by then are unknown with reason `timeout`. */
  readonly signal: AbortSignal
  /**
   * Once it aborts no new lookup is begun: purchases in flight are awaited and answered, other
   * subjects are returned as `later`. Used for paid checks (`PURCHASED_CHECKS`); runs of other
   * checks are aborted.
   */
  readonly drain?: AbortSignal
  /**
   * Called whenever the server asked about a subject has sent a reply, so that the subject does not
   * count as slow. Used by engines that wait for servers for seconds.
   */
  readonly heard?: (index: number) => void
  /**
   * Called once for each subject as soon as its answer is known, in any order. `group` is the
   * group, named as in `Later`, under whose limit a server was asked just now.
   */
  readonly answered?: (index: number, answer: Answer<C>, group?: string) => void
}

/**
 * Answers one check; the answers have the order of the subjects. Throws only on a programming
 * error.
 */
export interface Engine<C extends Check> extends AsyncDisposable {
  readonly check: C
  run(request: EngineRequest<C>): Promise<readonly Answer<C>[]>
  /** State of its dependencies, for `doctor` and the details of `/readyz`. */
  health(): Promise<readonly EngineHealth[]>
}

/**
 * A subject whose outcome must wait: its group (provider, registry) is at its limit, or it is
 * greylisted.
 */
export interface Later {
  readonly kind: 'later'
  /** Milliseconds from now. The time of the next dispatch is computed by the database's clock. */
  readonly afterMs: number
  /**
   * The limit or server that the subject waits for, such as `mx:google` or `rdap:verisign`;
   * subjects of one group wait together.
   */
  readonly group: string
  /** Whether only this subject is delayed, and not its whole group. */
  readonly isOwnWait?: boolean
  readonly reason: string
  /** Passed back to the engine with the next try, for example `{ "tries": 2, "since": "..." }`. */
  readonly state?: Json
}

/** An engine's answer for one subject: an outcome, or when to try again. */
export type Answer<C extends Check = Check> = Outcome<C> | Later

/** Whether one dependency of an engine works. */
export interface EngineHealth {
  readonly name: string
  readonly status: 'ok' | 'degraded' | 'failed' | 'off'
  readonly detail: string
}
