/** Limits of a worker's concurrent single-call subjects. */
export interface LiveLimits {
  /** Maximum number of concurrent subjects of one check. */
  readonly subjects: number
  /** Maximum number of slow subjects of one account among these. */
  readonly slowPerAccount: number
}

/** The default limits. */
export const DEFAULT_LIVE_LIMITS: LiveLimits = { subjects: 1_000, slowPerAccount: 64 }

/**
 * Why a subject is refused: its account has used its share of slow subjects, the worker is at its
 * limit, or too many subjects wait for its server, or of all accounts for servers that do not reply.
 */
export type RefusalCause = 'account' | 'room' | 'server'

/** A subject that waits for admission. */
export interface AdmissionRequest {
  readonly account: string
  /** When its caller stops waiting, by the clock of `LiveAdmission`. */
  readonly endsAtMs: number
  /** Called when it is admitted: its work begins. */
  begin(place: AdmittedSubject): void
  /** Called if it is refused, or displaced; its work must end. */
  refuse(cause: RefusalCause): void
  /** Called when its time is up; its work must end. */
  expire(): void
}

/** An admitted subject. */
export interface AdmittedSubject {
  /** Records a reply of the server asked about it: it is not slow. */
  heard(): void
  /** Records that its work has ended. */
  leave(): void
}

/**
 * Limits how many single-call subjects a worker has in work, and admits accounts in turn. A subject
 * is slow if no reply was received about it for two seconds. Each account may have a limited number
 * of slow subjects, and all accounts together half of the limit, so that fast subjects are always
 * admitted. An account at its limit of slow subjects may try a few more, which are refused once
 * they are slow; beyond those it is refused at once.
 */
export interface LiveAdmission {
  request(request: AdmissionRequest): void
  /** Subjects that wait for admission. */
  waitingCount(): number
  /** Checks the time: which subjects are slow, expired, or have waited too long. */
  sweep(): void
}

/** Milliseconds without a reply after which a subject is slow. */
export const SLOW_MS = 2_000

/** Milliseconds that a subject waits for admission before it is refused. */
const ROOM_WAIT_MS = 3_000

/** Further subjects that an account at its limit of slow ones may try, as a share of that limit. */
const TRIAL_SHARE = 1 / 4

interface AdmissionState {
  readonly limits: LiveLimits
  readonly now: () => number
  /** Accounts with subjects that wait or are in work. */
  readonly accounts: Map<string, AccountShare>
  /** Accounts with waiting subjects, the next one first. */
  readonly turns: Set<AccountShare>
  /** Subjects in work, the oldest first. */
  readonly entries: Set<Entry>
  waitingCount: number
  slowCount: number
}

interface AccountShare {
  readonly name: string
  readonly waiting: Waiting[]
  runningCount: number
  readonly slow: Set<Entry>
}

interface Waiting {
  readonly request: AdmissionRequest
  readonly sinceMs: number
}

interface Entry {
  readonly request: AdmissionRequest
  readonly share: AccountShare
  heardAtMs: number
}

/** Makes the admission of one check in one worker. */
export function createLiveAdmission(
  limits: LiveLimits,
  now: () => number = () => performance.now(),
): LiveAdmission {
  const state: AdmissionState = {
    limits,
    now,
    accounts: new Map(),
    turns: new Set(),
    entries: new Set(),
    waitingCount: 0,
    slowCount: 0,
  }
  return {
    request: (request) => take(state, request),
    waitingCount: () => state.waitingCount,
    sweep: () => sweep(state),
  }
}

function take(state: AdmissionState, request: AdmissionRequest): void {
  const share = shareOf(state, request.account)
  if (share.waiting.length === 0 && state.entries.size < state.limits.subjects) {
    if (hasShare(state, share)) begin(state, share, request)
    else request.refuse('account')
    return
  }
  share.waiting.push({ request, sinceMs: state.now() })
  state.waitingCount += 1
  state.turns.add(share)
}

function shareOf(state: AdmissionState, name: string): AccountShare {
  let share = state.accounts.get(name)
  if (share === undefined) {
    share = { name, waiting: [], runningCount: 0, slow: new Set() }
    state.accounts.set(name, share)
  }
  return share
}

/**
 * Whether the account may have one more subject in work: it is below its limit of slow ones, or may
 * try some beyond it.
 */
function hasShare({ limits }: AdmissionState, { slow, runningCount }: AccountShare): boolean {
  if (slow.size < limits.slowPerAccount) return true
  return runningCount - slow.size < Math.max(1, Math.floor(limits.slowPerAccount * TRIAL_SHARE))
}

function begin(state: AdmissionState, share: AccountShare, request: AdmissionRequest): void {
  const entry: Entry = { request, share, heardAtMs: state.now() }
  state.entries.add(entry)
  share.runningCount += 1
  request.begin({
    heard() {
      if (!state.entries.has(entry)) return
      entry.heardAtMs = state.now()
      if (share.slow.delete(entry)) state.slowCount -= 1
    },
    leave() {
      if (release(state, entry)) fill(state)
    },
  })
}

/** Releases an admitted subject; false if it was released before. */
function release(state: AdmissionState, entry: Entry): boolean {
  const { share } = entry
  if (!state.entries.delete(entry)) return false
  share.runningCount -= 1
  if (share.slow.delete(entry)) state.slowCount -= 1
  forgetIfIdle(state, share)
  return true
}

function forgetIfIdle(state: AdmissionState, share: AccountShare): void {
  if (share.waiting.length === 0) state.turns.delete(share)
  if (share.runningCount + share.waiting.length === 0) state.accounts.delete(share.name)
}

/** Admits waiting subjects, one of each account in turn, up to the limit. */
function fill(state: AdmissionState): void {
  while (state.entries.size < state.limits.subjects) {
    const [share] = state.turns
    if (share === undefined) return
    state.turns.delete(share)
    const next = share.waiting.shift()
    if (next === undefined) continue
    state.waitingCount -= 1
    if (share.waiting.length > 0) state.turns.add(share)
    if (hasShare(state, share)) begin(state, share, next.request)
    else {
      next.request.refuse('account')
      forgetIfIdle(state, share)
    }
  }
}

function sweep(state: AdmissionState): void {
  const now = state.now()
  for (const entry of state.entries) {
    if (entry.request.endsAtMs <= now) {
      release(state, entry)
      entry.request.expire()
    } else if (now - entry.heardAtMs >= SLOW_MS && !entry.share.slow.has(entry)) {
      becomeSlow(state, entry)
    }
  }
  refuseWaiting(state, now)
  fill(state)
}

function becomeSlow(state: AdmissionState, entry: Entry): void {
  const { share } = entry
  if (share.slow.size >= state.limits.slowPerAccount) {
    refuse(state, entry, 'account')
    return
  }
  share.slow.add(entry)
  state.slowCount += 1
  if (state.slowCount <= state.limits.subjects / 2) return
  // Subjects of the account with the most are displaced, the newest first: it has waited least.
  let most = share
  for (const other of state.accounts.values()) if (other.slow.size > most.slow.size) most = other
  const newest = [...most.slow].at(-1)
  if (newest !== undefined) refuse(state, newest, 'server')
}

function refuse(state: AdmissionState, entry: Entry, cause: RefusalCause): void {
  release(state, entry)
  entry.request.refuse(cause)
}

/**
 * Waiting subjects are in order of arrival, so only the first ones of each account are examined.
 */
function refuseWaiting(state: AdmissionState, now: number): void {
  for (const share of state.turns) {
    let [first] = share.waiting
    while (first !== undefined && now - first.sinceMs >= ROOM_WAIT_MS) {
      share.waiting.shift()
      state.waitingCount -= 1
      first.request.refuse('room')
      first = share.waiting[0]
    }
    forgetIfIdle(state, share)
  }
}
