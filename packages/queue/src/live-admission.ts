/** Limits of a worker's concurrent single-call subjects. */
export interface LiveLimits {
  /** Subjects of one check in work at once. */
  readonly subjects: number
  /** Of these, slow ones of one account. */
  readonly slowPerAccount: number
}

/** The default limits. */
export const DEFAULT_LIVE_LIMITS: LiveLimits = { subjects: 1_000, slowPerAccount: 64 }

/**
 * Why a subject is refused: its account has used its share of slow subjects, or the worker is at
 * its limit.
 */
export type RefusalCause = 'account' | 'room'

/** A subject that waits for admission. */
export interface AdmissionRequest {
  readonly account: string
  /** When its caller stops waiting, by the clock of the room. */
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
  /** Subjects that wait or are in work. */
  count(): number
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
  /** In work, the oldest first. */
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

/** Makes the room of one check in one worker. */
export function createLiveAdmission(
  limits: LiveLimits,
  now: () => number = () => performance.now(),
): LiveAdmission {
  const room: AdmissionState = {
    limits,
    now,
    accounts: new Map(),
    turns: new Set(),
    entries: new Set(),
    waitingCount: 0,
    slowCount: 0,
  }
  return {
    request: (request) => take(room, request),
    waitingCount: () => room.waitingCount,
    count: () => room.waitingCount + room.entries.size,
    sweep: () => sweep(room),
  }
}

function take(room: AdmissionState, request: AdmissionRequest): void {
  const share = shareOf(room, request.account)
  if (share.waiting.length === 0 && room.entries.size < room.limits.subjects) {
    if (hasShare(room, share)) begin(room, share, request)
    else request.refuse('account')
    return
  }
  share.waiting.push({ request, sinceMs: room.now() })
  room.waitingCount += 1
  room.turns.add(share)
}

function shareOf(room: AdmissionState, name: string): AccountShare {
  let share = room.accounts.get(name)
  if (share === undefined) {
    share = { name, waiting: [], runningCount: 0, slow: new Set() }
    room.accounts.set(name, share)
  }
  return share
}

/**
 * Whether the account may have one more subject in work: it is below its limit of slow ones, or of
 * those it may try beyond.
 */
function hasShare({ limits }: AdmissionState, { slow, runningCount }: AccountShare): boolean {
  if (slow.size < limits.slowPerAccount) return true
  return runningCount - slow.size < Math.max(1, Math.floor(limits.slowPerAccount * TRIAL_SHARE))
}

function begin(room: AdmissionState, share: AccountShare, request: AdmissionRequest): void {
  const entry: Entry = { request, share, heardAtMs: room.now() }
  room.entries.add(entry)
  share.runningCount += 1
  request.begin({
    heard() {
      if (!room.entries.has(entry)) return
      entry.heardAtMs = room.now()
      if (share.slow.delete(entry)) room.slowCount -= 1
    },
    leave() {
      if (release(room, entry)) fill(room)
    },
  })
}

/** Releases an admitted subject; false if it was released before. */
function release(room: AdmissionState, entry: Entry): boolean {
  const { share } = entry
  if (!room.entries.delete(entry)) return false
  share.runningCount -= 1
  if (share.slow.delete(entry)) room.slowCount -= 1
  forgetIfIdle(room, share)
  return true
}

function forgetIfIdle(room: AdmissionState, share: AccountShare): void {
  if (share.waiting.length === 0) room.turns.delete(share)
  if (share.runningCount + share.waiting.length === 0) room.accounts.delete(share.name)
}

/** Admits waiting subjects, one of each account in turn, up to the limit. */
function fill(room: AdmissionState): void {
  while (room.entries.size < room.limits.subjects) {
    const [share] = room.turns
    if (share === undefined) return
    room.turns.delete(share)
    const next = share.waiting.shift()
    if (next === undefined) continue
    room.waitingCount -= 1
    if (share.waiting.length > 0) room.turns.add(share)
    if (hasShare(room, share)) begin(room, share, next.request)
    else {
      next.request.refuse('account')
      forgetIfIdle(room, share)
    }
  }
}

function sweep(room: AdmissionState): void {
  const now = room.now()
  for (const entry of room.entries) {
    if (entry.request.endsAtMs <= now) {
      release(room, entry)
      entry.request.expire()
    } else if (now - entry.heardAtMs >= SLOW_MS && !entry.share.slow.has(entry)) {
      becomeSlow(room, entry)
    }
  }
  refuseWaiting(room, now)
  fill(room)
}

function becomeSlow(room: AdmissionState, entry: Entry): void {
  const { share } = entry
  if (share.slow.size >= room.limits.slowPerAccount) {
    refuse(room, entry, 'account')
    return
  }
  share.slow.add(entry)
  room.slowCount += 1
  if (room.slowCount <= room.limits.subjects / 2) return
  // Those of the account with the most give way, the newest first: it has waited least.
  let most = share
  for (const other of room.accounts.values()) if (other.slow.size > most.slow.size) most = other
  const newest = [...most.slow].at(-1)
  if (newest !== undefined) refuse(room, newest, 'room')
}

function refuse(room: AdmissionState, entry: Entry, cause: RefusalCause): void {
  release(room, entry)
  entry.request.refuse(cause)
}

/**
 * Waiting subjects are in order of arrival, so only the first ones of each account are examined.
 */
function refuseWaiting(room: AdmissionState, now: number): void {
  for (const share of room.turns) {
    let [first] = share.waiting
    while (first !== undefined && now - first.sinceMs >= ROOM_WAIT_MS) {
      share.waiting.shift()
      room.waitingCount -= 1
      first.request.refuse('room')
      first = share.waiting[0]
    }
    forgetIfIdle(room, share)
  }
}
