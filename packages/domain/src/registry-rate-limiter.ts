import type { Lease, Limiter, Memory } from '@plumbline/ports/engine'
import { createRegistryServer, isPaused, learn } from './registry-server.ts'
import type { Mood, RegistryServer } from './registry-server.ts'

/** Who waits for a turn. */
export interface Turn {
  readonly lane: 'live' | 'bulk'
  readonly signal: AbortSignal
}

/** What came of asking for a turn. */
export type Turned<T> =
  | { readonly kind: 'done'; readonly value: T }
  /** The queue is as long as a list waits; `afterMs` is when it will be all but empty. */
  | { readonly kind: 'later'; readonly afterMs: number }
  /** The server asked to be left alone, or is down. */
  | { readonly kind: 'paused'; readonly why: 'throttled' | 'silent'; readonly retryMs: number }
  | { readonly kind: 'aborted' }

/**
 * Keeps to what each registry server bears, over all workers.
 *
 * A server counts arrivals in windows of its own, and nobody here knows when within a question's time
 * it arrived. So a question counts from before it is sent until a second after its answer came: however
 * the network bunches them, no second of the server's own holds more than it allows.
 */
export interface Manners extends AsyncDisposable {
  /**
   * Runs `ask` when `server` has room. Live goes before bulk; where more single calls come than the server
   * bears, those that can still hear their answer go before those that have waited too long for it.
   */
  take<T>(
    server: string,
    turn: Turn,
    ask: () => Promise<{ readonly value: T; readonly mood: Mood }>,
  ): Promise<Turned<T>>
  /** Servers that are left alone now. */
  paused(): readonly { readonly server: string; readonly retryMs: number }[]
}

/** What good manners need to know. */
export interface MannersOptions {
  readonly limiter: Limiter
  readonly memory: Memory
  /** Questions a second that a server allows, a fraction for fewer; default 2. */
  readonly perSecond?: number
  /** Questions at once to one server; default 2. */
  readonly concurrency?: number
  /** How long a list waits for a turn before it is told "later"; default 10,000. */
  readonly holdMs?: number
  /** Milliseconds since 1970. */
  readonly now: () => number
  readonly log: { warn(fields: object, message: string): void }
}

const DEFAULT_PER_SECOND = 2
const DEFAULT_CONCURRENCY = 2
const DEFAULT_HOLD_MS = 10_000
/** Longer than any one question may take; what a worker held that died is free after it. */
const LEASE_MS = 15_000
const SECOND_MS = 1_000
/** How soon a worker looks again for what another one holds. */
const HELD_LOOK_MS = 25
/** Work that is still queued when a list comes again, so that the server never idles. */
const KEEP_MS = 2_000
const LEAST_LATER_MS = 250
const LIMITS_RETRY_MS = 500
/** A single call that has waited so long has hardly the time left that a slow answer takes. */
const PATIENCE_MS = 8_000
/** A server that an asker gave up on sooner than this was not heard out: that is no silence of its own. */
const HEARD_OUT_MS = 3_000

/** Makes the manners. Pauses are shared through `memory`, rates and places through `limiter`. */
export function createManners(options: MannersOptions): Manners {
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
    take(name, turn, ask) {
      return takeTurn(serverOf(name), turn, ask, settings)
    },
    paused() {
      const now = options.now()
      return [...servers.values()]
        .filter((server) => server.pause.until > now)
        .map((server) => ({ server: server.name, retryMs: server.pause.until - now }))
    },
    async [Symbol.asyncDispose]() {
      closing.resolve()
      await Promise.all([...servers.values()].flatMap(({ counting }) => [...counting]))
    },
  }
}

type Settings = MannersOptions & {
  readonly concurrency: number
  readonly holdMs: number
  readonly closed: Promise<void>
}

type Held = Extract<Lease, { granted: true }>

interface Waiter {
  readonly turn: Turn
  readonly sinceMs: number
  /** Runs the question; the mood tells how it went, null where it tells nothing of the server. */
  readonly start: () => Promise<Mood | null>
  readonly fail: (error: unknown) => void
  readonly refuse: (turned: Exclude<Turned<never>, { kind: 'done' }>) => void
}

interface Server extends RegistryServer {
  readonly waiting: { readonly live: Waiter[]; readonly bulk: Waiter[] }
  /** What of this process the window counts; each ends when it does not any more. */
  readonly counting: Set<Promise<void>>
  /** The right to ask next, taken ahead of the moment at which the window has room. */
  hasTurn: boolean
  running: number
  pumping: boolean
}

function createServer(name: string, perSecond: number): Server {
  return {
    ...createRegistryServer(name, perSecond),
    waiting: { live: [], bulk: [] },
    counting: new Set(),
    hasTurn: false,
    running: 0,
    pumping: false,
  }
}

function takeTurn<T>(
  server: Server,
  turn: Turn,
  ask: () => Promise<{ readonly value: T; readonly mood: Mood }>,
  settings: Settings,
): Promise<Turned<T>> {
  if (turn.signal.aborted) return Promise.resolve({ kind: 'aborted' })
  const afterMs = turn.lane === 'bulk' ? fullForMs(server, settings) : 0
  if (afterMs > 0) return Promise.resolve({ kind: 'later', afterMs })
  const { promise, resolve, reject } = Promise.withResolvers<Turned<T>>()
  const onAbort = (): void => resolve({ kind: 'aborted' })
  turn.signal.addEventListener('abort', onAbort, { once: true })
  server.waiting[turn.lane].push({
    turn,
    sinceMs: settings.now(),
    refuse: resolve,
    fail: reject,
    async start() {
      const askedAt = settings.now()
      const { value, mood } = await ask()
      resolve({ kind: 'done', value })
      const isCut = turn.signal.aborted && settings.now() - askedAt < HEARD_OUT_MS
      return isCut && mood.kind === 'silent' ? null : mood
    },
  })
  void pump(server, settings)
  return promise.finally(() => turn.signal.removeEventListener('abort', onAbort))
}

// How long until the server's queue is all but empty; 0 where it still takes one more.
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
        if (await isPaused(server, settings)) sendAway(server, settings)
        else await startNext(server, settings)
      } catch (error) {
        // Without the shared limits nobody is asked; who waits does so until they are back.
        settings.log.warn({ err: error }, 'the limits of registry servers are out of reach')
        await sleep(LIMITS_RETRY_MS)
      }
    }
  } finally {
    server.pumping = false
  }
}

// Turns go round between workers by a bucket; what the window and the places hold is held by leases.
async function startNext(server: Server, settings: Settings): Promise<void> {
  if (!server.hasTurn) {
    const { perSecond } = server
    const rate = { perSecond, burst: 1 }
    const grant = await settings.limiter.take(`domain:rate:${server.name}`, 1, rate)
    if (!grant.granted) return sleep(Math.min(grant.retryMs, SECOND_MS))
    server.hasTurn = true
  }
  const { questions, ms } = server.window
  if (server.counting.size >= questions) {
    await Promise.race(server.counting)
    return
  }
  const place = await settings.limiter.lease(
    `domain:place:${server.name}`,
    settings.concurrency,
    LEASE_MS,
  )
  if (!place.granted) return sleep(HELD_LOOK_MS)
  const counted = await settings.limiter
    .lease(`domain:window:${server.name}`, questions, LEASE_MS + ms)
    .catch(async (error: unknown) => {
      await place.release().catch(() => undefined)
      throw error
    })
  if (!counted.granted) {
    await place.release()
    return sleep(HELD_LOOK_MS)
  }
  dropAborted(server)
  const waiter = nextLive(server, settings.now()) ?? server.waiting.bulk.shift()
  if (waiter === undefined) {
    await Promise.all([place.release(), counted.release()])
    return
  }
  server.hasTurn = false
  const served = serve(server, waiter, place, settings)
  const counting = served.then(() => forget(server, counted, settings))
  server.counting.add(counting)
  void counting.then(() => {
    server.counting.delete(counting)
    void pump(server, settings)
  })
}

function nextLive({ waiting: { live } }: Server, now: number): Waiter | undefined {
  const fresh = live.findIndex(({ sinceMs }) => now - sinceMs < PATIENCE_MS)
  return live.splice(Math.max(0, fresh), 1)[0]
}

async function serve(
  server: Server,
  waiter: Waiter,
  place: Held,
  settings: Settings,
): Promise<void> {
  server.running++
  try {
    const mood = await waiter.start()
    if (mood !== null) await learn(server, mood, settings)
  } catch (error) {
    waiter.fail(error)
  } finally {
    server.running--
    await place.release().catch(() => undefined)
    void pump(server, settings)
  }
}

async function forget(server: Server, counted: Held, { closed }: Settings): Promise<void> {
  await Promise.race([sleep(server.window.ms), closed])
  await counted.release().catch(() => undefined)
}

function sendAway(server: Server, settings: Settings): void {
  const retryMs = Math.ceil(server.pause.until - settings.now())
  const { why } = server.pause
  const away = [...server.waiting.live.splice(0), ...server.waiting.bulk.splice(0)]
  for (const waiter of away) waiter.refuse({ kind: 'paused', why, retryMs })
}

function dropAborted(server: Server): number {
  for (const lane of ['live', 'bulk'] as const) {
    const waiting = server.waiting[lane]
    const left = waiting.filter((waiter) => !waiter.turn.signal.aborted)
    if (left.length < waiting.length) waiting.splice(0, waiting.length, ...left)
  }
  return server.waiting.live.length + server.waiting.bulk.length
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.max(1, ms)))
}
