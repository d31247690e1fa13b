/** How many subjects of single calls a worker has in work, and how many of them may be slow. */
export interface LiveLimits {
  /** Subjects of one check in work at once. */
  readonly subjects: number
  /** Of these, slow ones of one account. */
  readonly slowPerAccount: number
}

/** The limits of a worker that is told no others. */
export const DEFAULT_LIVE_LIMITS: LiveLimits = { subjects: 1_000, slowPerAccount: 64 }

/** Why a subject is not worked on: its account has its share of what is slow, or the worker has no room. */
export type RefusalCause = 'account' | 'room'

/** A subject that asks for room. */
export interface RoomRequest {
  readonly account: string
  /** When nobody waits for its outcome any more, by the clock of the room. */
  readonly endsAtMs: number
  /** It has room: its work begins. */
  begin(place: Place): void
  /** It gets no room, or has lost it; its work must end. */
  refuse(cause: RefusalCause): void
  /** Its time is up; its work must end. */
  expire(): void
}

/** The room of one subject in work. */
export interface Place {
  /** Whoever is asked about it has answered something: it is not slow. */
  heard(): void
  /** Its work has ended. */
  leave(): void
}

/**
 * Room for the subjects of single calls, counted by subject and given to accounts in turn. A subject that
 * nothing was heard of for two seconds is slow: an account has a bounded number of those, and all accounts
 * together half of the room, so that there is always room for whoever is answered at once. An account
 * that has its share of slow ones may try a few more, which are refused once they turn out to be slow;
 * beyond those it is refused at once.
 */
export interface LiveRoom {
  request(request: RoomRequest): void
  /** Subjects that wait for room. */
  waitingCount(): number
  /** Subjects that wait or are in work. */
  count(): number
  /** Looks at the clock: who is slow, whose time is up, who has waited too long. */
  sweep(): void
}

/** Nothing was heard of a subject for so long: it is slow. */
export const SLOW_MS = 2_000

/** How long a subject waits for room before it is refused. */
const ROOM_WAIT_MS = 3_000

/** Share of an account's slow subjects that it may try beside them. */
const TRIAL_SHARE = 1 / 4

interface Room {
  readonly limits: LiveLimits
  readonly now: () => number
  /** Accounts with subjects that wait or are in work. */
  readonly accounts: Map<string, AccountShare>
  /** Accounts with subjects that wait, the next one first. */
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
  readonly request: RoomRequest
  readonly sinceMs: number
}

interface Entry {
  readonly request: RoomRequest
  readonly share: AccountShare
  heardAtMs: number
}

/** Makes the room of one check in one worker. */
export function createLiveRoom(
  limits: LiveLimits,
  now: () => number = () => performance.now(),
): LiveRoom {
  const room: Room = {
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

function take(room: Room, request: RoomRequest): void {
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

function shareOf(room: Room, name: string): AccountShare {
  let share = room.accounts.get(name)
  if (share === undefined) {
    share = { name, waiting: [], runningCount: 0, slow: new Set() }
    room.accounts.set(name, share)
  }
  return share
}

/** Whether the account may have one more in work: it has few slow ones, or few that it tries beside them. */
function hasShare({ limits }: Room, { slow, runningCount }: AccountShare): boolean {
  if (slow.size < limits.slowPerAccount) return true
  return runningCount - slow.size < Math.max(1, Math.floor(limits.slowPerAccount * TRIAL_SHARE))
}

function begin(room: Room, share: AccountShare, request: RoomRequest): void {
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

/** Gives the room of a subject back; false if it had none any more. */
function release(room: Room, entry: Entry): boolean {
  const { share } = entry
  if (!room.entries.delete(entry)) return false
  share.runningCount -= 1
  if (share.slow.delete(entry)) room.slowCount -= 1
  forgetIfIdle(room, share)
  return true
}

function forgetIfIdle(room: Room, share: AccountShare): void {
  if (share.waiting.length === 0) room.turns.delete(share)
  if (share.runningCount + share.waiting.length === 0) room.accounts.delete(share.name)
}

/** Begins with what waits, one of each account in turn, while there is room. */
function fill(room: Room): void {
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

function sweep(room: Room): void {
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

function becomeSlow(room: Room, entry: Entry): void {
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

function refuse(room: Room, entry: Entry, cause: RefusalCause): void {
  release(room, entry)
  entry.request.refuse(cause)
}

/** What waits stands in the order of its coming, so only the first ones of each account are looked at. */
function refuseWaiting(room: Room, now: number): void {
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
