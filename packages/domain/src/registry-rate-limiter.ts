import { nextTurn, type FairTurns } from '@plumbline/concurrency/fair-turns'
import type { Log } from '@plumbline/ports/log'
import type { Lease, Limiter } from '@plumbline/ports/limiter'
import type { Memory } from '@plumbline/ports/memory'
import { createRegistryServer, isPaused, noteResult, pauseMs } from './registry-server.ts'
import type { QueryResult, RegistryServer } from './registry-server.ts'

/** The caller of a query: a single call or a batch of an account, and the signal that ends its wait. */
export interface RegistryCaller {
  readonly lane: 'live' | 'bulk'
  readonly account: string
  readonly signal: AbortSignal
}

/** Result of a rate-limited query: its value, or why it was not sent. */
export type RateLimited<T> =
  | { readonly kind: 'done'; readonly value: T }
  /**
   * More queries are queued than a batch may wait for; after `afterMs` they will be nearly done.
   */
  | { readonly kind: 'later'; readonly afterMs: number }
  /** Queries to the server are paused: it throttles, or is down. */
  | { readonly kind: 'paused'; readonly why: 'throttled' | 'silent'; readonly retryMs: number }
  | { readonly kind: 'aborted' }

/**
 * Keeps all workers together within the rate and concurrency that each registry server allows. A
 * server counts queries on arrival, which we cannot observe, so each query counts from before it is
 * sent until a second after its reply: whatever the network delay, no second of the server's clock
 * then sees more than it allows.
 */
export interface RegistryRateLimiter extends AsyncDisposable {
  /**
   * Runs `ask` when the limits of `server` allow it. Live before bulk; if there are more single
   * calls than the server allows, those with enough time left for a reply come before those that
   * have waited too long, and accounts take turns.
   */
  run<T>(
    server: string,
    caller: RegistryCaller,
    ask: () => Promise<{ readonly value: T; readonly result: QueryResult }>,
  ): Promise<RateLimited<T>>
  /** Paused servers, and for how long. */
  paused(): readonly { readonly server: string; readonly retryMs: number }[]
}

/** Settings and dependencies of the rate limiter. */
export interface RegistryRateLimiterOptions {
  readonly limiter: Limiter
  readonly memory: Memory
  /** Queries per second that a server allows; may be below 1; default 2. */
  readonly perSecond?: number | undefined
  /** Concurrent queries to one server; default 2. */
  readonly concurrency?: number | undefined
  /** Milliseconds that a batch waits for a server before it is answered `later`; default 10,000. */
  readonly holdMs?: number | undefined
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number
  readonly log: Pick<Log, 'warn'>
}

const DEFAULT_PER_SECOND = 2
const DEFAULT_CONCURRENCY = 2
const DEFAULT_HOLD_MS = 10_000
/** Milliseconds after which the lease of a worker that died ends; longer than any query. */
const LEASE_MS = 15_000
const SECOND_MS = 1_000
/** Milliseconds before another attempt to get a lease that other workers hold. */
const LEASE_RETRY_MS = 25
/**
 * Milliseconds of work left in the queue when postponed names return, so that the server is never
 * idle.
 */
const KEEP_MS = 2_000
const LEAST_LATER_MS = 250
const LIMITS_RETRY_MS = 500
/** Milliseconds after which a waiting single call has hardly any time left for a slow reply. */
const FRESH_MS = 8_000
/**
 * Milliseconds that a server must have had for its reply: a caller that gave up sooner proves no
 * outage.
 */
const LEAST_REPLY_MS = 3_000

/**
 * Makes the rate limiter. Pauses are shared through `memory`, rates and slots through `limiter`.
 */
export function createRegistryRateLimiter(
  options: RegistryRateLimiterOptions,
): RegistryRateLimiter {
  const servers = new Map<string, Server>()
  const closing = Promise.withResolvers<void>()
  const settings = {
    ...options,
    concurrency: options.concurrency ?? DEFAULT_CONCURRENCY,
    holdMs: options.holdMs ?? DEFAULT_HOLD_MS,
    closed: closing.promise,
  }
  const serverOf = (name: string): Server => {
    const known = servers.get(name)
    if (known !== undefined) return known
    const server = createServer(name, options.perSecond ?? DEFAULT_PER_SECOND)
    servers.set(name, server)
    return server
  }
  return {
    run(name, caller, ask) {
      return enqueue(serverOf(name), caller, ask, settings)
    },
    paused() {
      const now = options.now()
      return [...servers.values()]
        .map((server) => ({ server: server.name, retryMs: pauseMs(server.pause, now) }))
        .filter(({ retryMs }) => retryMs > 0)
    },
    async [Symbol.asyncDispose]() {
      closing.resolve()
      await Promise.all([...servers.values()].flatMap(({ inWindow }) => [...inWindow]))
    },
  }
}

type Settings = RegistryRateLimiterOptions & {
  readonly concurrency: number
  readonly holdMs: number
  readonly closed: Promise<void>
}

type Held = Extract<Lease, { granted: true }>

interface Waiter {
  readonly caller: RegistryCaller
  readonly sinceMs: number
  /**
   * Runs the query; returns the result for the server, null if it says nothing about the server.
   */
  readonly start: () => Promise<QueryResult | null>
  readonly fail: (error: unknown) => void
  readonly refuse: (limited: Exclude<RateLimited<never>, { kind: 'done' }>) => void
}

interface Server extends RegistryServer {
  readonly waiting: { readonly live: Waiter[]; readonly bulk: Waiter[] }
  /** Turns of single calls, of which those that are served count. */
  readonly turns: FairTurns
  /** Queries of this process in the current window; each resolves when it leaves the window. */
  readonly inWindow: Set<Promise<void>>
  /** Whether a token was taken already, before the window has capacity. */
  hasToken: boolean
  running: number
  pumping: boolean
}

function createServer(name: string, perSecond: number): Server {
  return {
    ...createRegistryServer(name, perSecond),
    waiting: { live: [], bulk: [] },
    turns: { last: new Map(), current: 0 },
    inWindow: new Set(),
    hasToken: false,
    running: 0,
    pumping: false,
  }
}

function enqueue<T>(
  server: Server,
  caller: RegistryCaller,
  ask: () => Promise<{ readonly value: T; readonly result: QueryResult }>,
  settings: Settings,
): Promise<RateLimited<T>> {
  if (caller.signal.aborted) return Promise.resolve({ kind: 'aborted' })
  const afterMs = caller.lane === 'bulk' ? fullForMs(server, settings) : 0
  if (afterMs > 0) return Promise.resolve({ kind: 'later', afterMs })
  const { promise, resolve, reject } = Promise.withResolvers<RateLimited<T>>()
  const onAbort = (): void => resolve({ kind: 'aborted' })
  caller.signal.addEventListener('abort', onAbort, { once: true })
  server.waiting[caller.lane].push({
    caller,
    sinceMs: settings.now(),
    refuse: resolve,
    fail: reject,
    async start() {
      const askedAt = settings.now()
      const { value, result } = await ask()
      resolve({ kind: 'done', value })
      const isCut = caller.signal.aborted && settings.now() - askedAt < LEAST_REPLY_MS
      return isCut && result.kind === 'silent' ? null : result
    },
  })
  void pump(server, settings)
  return promise.finally(() => caller.signal.removeEventListener('abort', onAbort))
}

// How long until the server's queue is nearly empty; 0 where it still takes one more.
function fullForMs(server: Server, settings: Settings): number {
  const queued = server.waiting.live.length + server.waiting.bulk.length
  const queuedMs = (queued * 1000) / server.perSecond
  return queuedMs <= settings.holdMs ? 0 : Math.max(LEAST_LATER_MS, Math.ceil(queuedMs - KEEP_MS))
}

async function pump(server: Server, settings: Settings): Promise<void> {
  if (server.pumping) return
  server.pumping = true
  try {
    while (dropAborted(server) > 0) {
      if (server.running >= settings.concurrency) return
      try {
        if (await isPaused(server, settings)) refuseAll(server, settings)
        else await startNext(server, settings)
      } catch (error) {
        // Without the shared limits no server is queried: callers wait until these are available
        // again.
        settings.log.warn({ err: error }, 'the limits of registry servers cannot be reached')
        await sleep(LIMITS_RETRY_MS)
      }
    }
  } finally {
    server.pumping = false
  }
}

// A token bucket spreads the rate over the workers; leases hold the window and the concurrency.
async function startNext(server: Server, settings: Settings): Promise<void> {
  if (!server.hasToken) {
    const { perSecond } = server
    const rate = { perSecond, burst: 1 }
    const grant = await settings.limiter.take(`domain:rate:${server.name}`, 1, rate)
    if (!grant.granted) return sleep(Math.min(grant.retryMs, SECOND_MS))
    server.hasToken = true
  }
  if (server.inWindow.size >= server.window.queries) {
    await Promise.race(server.inWindow)
    return
  }
  const leases = await takeLeases(server, settings)
  if (leases === null) return sleep(LEASE_RETRY_MS)
  const { slot, windowLease } = leases
  dropAborted(server)
  const waiter = nextLive(server, settings.now()) ?? server.waiting.bulk.shift()
  if (waiter === undefined) {
    await Promise.all([slot.release(), windowLease.release()])
    return
  }
  server.hasToken = false
  const served = serve(server, waiter, slot, settings)
  const counted = served.then(() => leaveWindow(server, windowLease, settings))
  server.inWindow.add(counted)
  void counted.then(() => {
    server.inWindow.delete(counted)
    void pump(server, settings)
  })
}

/**
 * Takes a concurrency lease and a token of the window in parallel; null if either is not available.
 */
async function takeLeases(
  { name, window }: Server,
  { limiter, concurrency }: Settings,
): Promise<{ readonly slot: Held; readonly windowLease: Held } | null> {
  const asked = [
    limiter.lease(`domain:slot:${name}`, concurrency, LEASE_MS),
    limiter.lease(`domain:window:${name}`, window.queries, LEASE_MS + window.ms),
  ] as const
  const [slot, windowLease] = await Promise.all(asked.map(heldOrNull))
  if (slot != null && windowLease != null) return { slot, windowLease }
  await Promise.all([slot?.release().catch(ignoreError), windowLease?.release().catch(ignoreError)])
  // Throws if the limits are unavailable.
  await Promise.all(asked)
  return null
}

async function heldOrNull(asked: Promise<Lease>): Promise<Held | null> {
  const lease = await asked.catch(() => null)
  return lease?.granted === true ? lease : null
}

/** Errors are ignored: an unreleased lease expires. */
function ignoreError(): void {}

function nextLive({ turns, waiting: { live } }: Server, now: number): Waiter | undefined {
  const fresh = live.filter(({ sinceMs }) => now - sinceMs < FRESH_MS)
  const turnOf = ({ caller }: Waiter): number => nextTurn(turns, caller.account)
  const [next] = (fresh.length > 0 ? fresh : live).toSorted((a, b) => turnOf(a) - turnOf(b))
  if (next === undefined) return undefined
  turns.current = turnOf(next)
  turns.last.set(next.caller.account, turns.current)
  live.splice(live.indexOf(next), 1)
  if (live.length === 0) turns.last.clear()
  return next
}

async function serve(
  server: Server,
  waiter: Waiter,
  slot: Held,
  settings: Settings,
): Promise<void> {
  server.running++
  try {
    const result = await waiter.start()
    if (result !== null) await noteResult(server, result, settings)
  } catch (error) {
    waiter.fail(error)
  } finally {
    server.running--
    await slot.release().catch(() => undefined)
    void pump(server, settings)
  }
}

async function leaveWindow(server: Server, windowLease: Held, { closed }: Settings): Promise<void> {
  await Promise.race([sleep(server.window.ms), closed])
  await windowLease.release().catch(() => undefined)
}

function refuseAll(server: Server, settings: Settings): void {
  const retryMs = Math.ceil(server.pause.until - settings.now())
  const { why } = server.pause
  const away = [...server.waiting.live.splice(0), ...server.waiting.bulk.splice(0)]
  for (const waiter of away) waiter.refuse({ kind: 'paused', why, retryMs })
}

function dropAborted(server: Server): number {
  for (const lane of ['live', 'bulk'] as const) {
    const waiting = server.waiting[lane]
    const left = waiting.filter((waiter) => !waiter.caller.signal.aborted)
    if (left.length < waiting.length) waiting.splice(0, waiting.length, ...left)
  }
  return server.waiting.live.length + server.waiting.bulk.length
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.max(1, ms)))
}
