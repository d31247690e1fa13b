import type { Answer, Json } from '@plumbline/contract/outcome'
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
  /** Opaque name of the account that asks: guards count by it, and findings are told apart by it. Never shown or logged. */
  readonly tenant: string
  /** Ends the run: what is unanswered by then is unknown with reason `timeout`. */
  readonly signal: AbortSignal
  /**
   * Once it fires nothing new is begun: what is being bought is awaited and answered, the rest comes back
   * as `later`. Fires for checks whose answers are bought (`PURCHASED_CHECKS`); others are aborted.
   */
  readonly drain?: AbortSignal
  /** Called once for each subject as soon as its answer is known, in any order. */
  readonly answered?: (index: number, answer: Answer<C>) => void
}

/** Answers one kind of check; the answers stand in the order of the subjects. Throws only on a bug of ours. */
export interface Engine<C extends Check> extends AsyncDisposable {
  readonly check: C
  run(request: EngineRequest<C>): Promise<readonly Answer<C>[]>
  /** What the doctor and the detail of readiness show of it. */
  health(): Promise<readonly EngineHealth[]>
}

/** How one thing that an engine leans on is doing. */
export interface EngineHealth {
  readonly name: string
  readonly status: 'ok' | 'degraded' | 'failed' | 'off'
  readonly detail: string
}

/** Facts shared between workers with a lifetime: caches, verdicts, breakers, paid queries begun. */
export interface Memory {
  /** Values in the order of the keys; undefined where absent or expired. */
  get(keys: readonly string[]): Promise<readonly (Json | undefined)[]>
  set(entries: readonly MemoryEntry[]): Promise<void>
  /** Stores only where nothing is held; answers whether it did. */
  claim(entry: MemoryEntry): Promise<boolean>
  delete(keys: readonly string[]): Promise<void>
}

/** What is to be remembered, and for how long. */
export interface MemoryEntry {
  readonly key: string
  readonly value: Json
  readonly ttlMs: number
}

/** Limits that hold over all workers. */
export interface Limiter {
  /**
   * Takes `count` from a bucket that refills `perSecond` up to `burst`; all or nothing.
   * In any window of t seconds at most `burst + t * perSecond` is granted.
   */
  take(key: string, count: number, rate: { perSecond: number; burst: number }): Promise<Grant>
  /** Holds one of `limit` places until released or `ttlMs` has passed. */
  lease(key: string, limit: number, ttlMs: number): Promise<Lease>
}

/** `remaining`: whole units that could be taken at once after this. */
export type Grant =
  | { readonly granted: true; readonly remaining?: number }
  | { readonly granted: false; readonly retryMs: number; readonly remaining?: number }

/** A place that was given, or when to ask again. */
export type Lease =
  | {
      readonly granted: true
      /** Extends the lease by its time to live; false when it was lost. */
      renew(): Promise<boolean>
      release(): Promise<void>
    }
  | { readonly granted: false; readonly retryMs: number }

/** Money that may be spent in a UTC day, counted over all workers and through crashes of any server. */
export interface Budget {
  /** Takes `count` of what is left of `mostPerDay` today, or all that is left where that is less. */
  take(name: string, count: number, mostPerDay: number): Promise<Spending>
}

/** What a budget let through; `giveBack` is for what was not spent after all. */
export interface Spending {
  readonly count: number
  giveBack(count: number): Promise<void>
}
