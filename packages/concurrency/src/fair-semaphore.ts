/** A caller that needs a permit. */
export interface PermitRequest {
  /** Live callers are served before bulk ones. */
  readonly lane: 'live' | 'bulk'
  readonly account: string
  /** The server or zone that the work waits for; absent: no limit of a group applies. */
  readonly group?: string
}

/**
 * Releases a permit; further calls do nothing. `answered`, default true, is false for work that was
 * given up, which does not show that its group is quick.
 */
export type Release = (answered?: boolean) => void

/** Numbers of permits. */
export interface FairLimits {
  /** Permits that either lane may have. */
  readonly shared: number
  /** Further ones for live callers only. */
  readonly live: number
  /** Absent: groups have no limit of their own. */
  readonly groups?: GroupLimits
}

/** Limits of the groups in each lane. */
interface GroupLimits {
  /** Permits with which a group begins. */
  readonly permits: number
  /**
   * Milliseconds after which work is slow: a group gets one more permit with each work that is
   * answered sooner, up to half of the shared ones, and has as many as at the beginning after slow
   * work.
   */
  readonly slowMs: number
  /** A monotonic clock in milliseconds. */
  readonly now: () => number
}

/**
 * Limits how many callers run at once. A free permit goes to the account with the fewest, in its
 * turn among those. One account gets seven eighths of a lane's permits at most, and live callers
 * leave an eighth of the shared ones to bulk callers. So neither an account nor a group whose work
 * is slow delays others for long.
 */
export interface FairSemaphore {
  /** A permit, to be released once the work has ended; null if the caller would have to wait. */
  tryEnter(request: PermitRequest): Release | null
  /** Waits for a permit; null once the signal aborts, if there was none by then. */
  enter(request: PermitRequest & { readonly signal: AbortSignal }): Promise<Release | null>
}

/** Part of the permits that is left to other accounts than the largest, and to bulk callers. */
const OTHERS_SHARE = 1 / 8

interface Lane {
  readonly accounts: Map<string, Account>
  readonly groups: Map<string, Group>
  /** Accounts with waiting callers, the next one first. */
  readonly turns: Set<Account>
  readonly limits: Readonly<Record<'lane' | 'account' | 'group' | 'largestGroup', number>>
  taken: number
}

interface Account {
  readonly name: string
  /** Waiting callers by group, the next group first. */
  readonly waiting: Map<Group | null, Set<Waiter>>
  taken: number
}

interface Group {
  readonly name: string
  limit: number
  taken: number
  waitingCount: number
}

interface Waiter {
  readonly start: () => void
}

/** What a permit counts for. */
interface Holder {
  readonly lane: Lane
  readonly account: Account
  readonly group: Group | null
}

interface Semaphore {
  readonly permits: number
  readonly groups: GroupLimits | undefined
  readonly lanes: Readonly<Record<'live' | 'bulk', Lane>>
}

/**
 * Creates a fair semaphore.
 *
 * @throws if there is no shared permit, or none for a group
 */
export function createFairSemaphore(limits: FairLimits): FairSemaphore {
  const { shared, live, groups } = limits
  if (!(shared >= 1) || (groups !== undefined && !(groups.permits >= 1))) {
    const ofGroups = groups === undefined ? '' : `, and ${groups.permits} for a group`
    throw new RangeError(`a semaphore needs at least one permit, not ${shared}${ofGroups}`)
  }
  const permits = shared + live
  const lanes = {
    live: createLane(limits, permits - shareOfOthers(shared)),
    bulk: createLane(limits, shared),
  }
  const all: Semaphore = { permits, groups, lanes }
  return {
    tryEnter(request) {
      const holder = holderOf(all, request)
      const permit = takeFree(all, holder)
      if (permit === null) forgetIdle(holder)
      return permit
    },
    async enter(request) {
      const { signal } = request
      if (signal.aborted) return null
      const holder = holderOf(all, request)
      return takeFree(all, holder) ?? (await waitFor(all, holder, signal))
    },
  }
}

function shareOfOthers(permits: number): number {
  return Math.floor(permits * OTHERS_SHARE)
}

function createLane({ shared, groups }: FairLimits, lane: number): Lane {
  const group = groups?.permits ?? Infinity
  return {
    accounts: new Map(),
    groups: new Map(),
    turns: new Set(),
    limits: {
      lane,
      account: lane - shareOfOthers(lane),
      group,
      largestGroup: Math.max(group, Math.floor(shared / 2)),
    },
    taken: 0,
  }
}

function holderOf({ lanes }: Semaphore, { lane: name, account, group }: PermitRequest): Holder {
  const lane = lanes[name]
  return {
    lane,
    account: accountOf(lane, account),
    group: group === undefined ? null : groupOf(lane, group),
  }
}

function accountOf(lane: Lane, name: string): Account {
  const account = lane.accounts.get(name) ?? { name, waiting: new Map(), taken: 0 }
  lane.accounts.set(name, account)
  return account
}

function groupOf(lane: Lane, name: string): Group {
  const { group: limit } = lane.limits
  const group = lane.groups.get(name) ?? { name, limit, taken: 0, waitingCount: 0 }
  lane.groups.set(name, group)
  return group
}

// Whoever waits cannot start now, so that a caller who can overtakes nobody.
function takeFree(all: Semaphore, holder: Holder): Release | null {
  return hasRoom(all, holder.lane) && canStart(holder) ? take(all, holder) : null
}

/** Whether the lane has a permit left. */
function hasRoom({ permits, lanes }: Semaphore, lane: Lane): boolean {
  return lane.taken < lane.limits.lane && lanes.live.taken + lanes.bulk.taken < permits
}

function canStart({ lane: { limits }, account, group }: Holder): boolean {
  return account.taken < limits.account && (group === null || group.taken < group.limit)
}

function take(all: Semaphore, holder: Holder): Release {
  const { groups } = all
  const { lane, account, group } = holder
  const beganMs = groups?.now() ?? 0
  lane.taken++
  account.taken++
  if (group !== null) group.taken++
  let isInside = true
  return (answered = true) => {
    if (!isInside) return
    isInside = false
    lane.taken--
    account.taken--
    if (group !== null) {
      group.taken--
      if (groups !== undefined)
        adapt(lane, group, groups.now() - beganMs >= groups.slowMs, answered)
    }
    forgetIdle(holder)
    for (const each of [all.lanes.live, all.lanes.bulk]) while (startNext(all, each));
  }
}

function adapt({ limits }: Lane, group: Group, isSlow: boolean, answered: boolean): void {
  if (isSlow) group.limit = limits.group
  else if (answered) group.limit = Math.min(limits.largestGroup, group.limit + 1)
}

function waitFor(all: Semaphore, holder: Holder, signal: AbortSignal): Promise<Release | null> {
  const { lane, account, group } = holder
  const { promise, resolve } = Promise.withResolvers<Release | null>()
  const waiter: Waiter = {
    start() {
      signal.removeEventListener('abort', onAbort)
      resolve(take(all, holder))
    },
  }
  const onAbort = (): void => {
    dequeue(holder, waiter)
    forgetIdle(holder)
    resolve(null)
  }
  signal.addEventListener('abort', onAbort, { once: true })
  const queue = account.waiting.get(group) ?? new Set()
  account.waiting.set(group, queue.add(waiter))
  if (group !== null) group.waitingCount++
  lane.turns.add(account)
  return promise
}

/** Starts the waiting caller whose turn it is; false if none can start. */
function startNext(all: Semaphore, lane: Lane): boolean {
  if (lane.turns.size === 0 || !hasRoom(all, lane)) return false
  let next: Holder | null = null
  for (const account of lane.turns) {
    if (next === null || account.taken < next.account.taken) next = nextOf(lane, account) ?? next
  }
  const [waiter] = next?.account.waiting.get(next.group) ?? []
  if (next === null || waiter === undefined) return false
  const { account, group } = next
  const left = dequeue(next, waiter)
  // Account and group move to the end of the order.
  if (left !== null) {
    account.waiting.delete(group)
    account.waiting.set(group, left)
  }
  if (lane.turns.delete(account) && account.waiting.size > 0) lane.turns.add(account)
  waiter.start()
  return true
}

/** What the permit of an account's next waiting caller counts for; null if none may start. */
function nextOf(lane: Lane, account: Account): Holder | null {
  if (account.taken >= lane.limits.account) return null
  for (const group of account.waiting.keys()) {
    const holder = { lane, account, group }
    if (canStart(holder)) return holder
  }
  return null
}

/** Removes a waiting caller; returns the others of its account and group, null if there are none. */
function dequeue({ lane, account, group }: Holder, waiter: Waiter): Set<Waiter> | null {
  const queue = account.waiting.get(group)
  if (queue?.delete(waiter) !== true) return null
  if (group !== null) group.waitingCount--
  if (queue.size > 0) return queue
  account.waiting.delete(group)
  if (account.waiting.size === 0) lane.turns.delete(account)
  return null
}

function forgetIdle({ lane, account, group }: Holder): void {
  if (account.taken === 0 && account.waiting.size === 0) lane.accounts.delete(account.name)
  if (group?.taken === 0 && group.waitingCount === 0) lane.groups.delete(group.name)
}
