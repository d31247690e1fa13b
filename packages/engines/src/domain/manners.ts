import type { Lease, Limiter, Memory } from '@plumbline/contract/engine'

/** How a server took a question. */
export type Mood =
  | { readonly kind: 'fine' }
  /** It did not answer: down, overloaded, or out of reach. */
  | { readonly kind: 'silent' }
  | { readonly kind: 'throttled'; readonly retryMs: number | null }

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

/** Keeps to what each registry server bears, over all workers. */
export interface Manners {
  /** Runs `ask` when `server` has room. Live goes before bulk. */
  take<T>(
    server: string,
    turn: Turn,
    ask: () => Promise<{ readonly value: T; readonly mood: Mood }>,
  ): Promise<Turned<T>>
  /** Servers that are left alone now. */
  paused(): readonly { readonly server: string; readonly retryMs: number }[]
}

export interface MannersOptions {
  readonly limiter: Limiter
  readonly memory: Memory
  /** Questions a second that a server allows; default 2. */
  readonly perSecond?: number
  /** The same for single servers, by host. */
  readonly rates?: Readonly<Record<string, number>>
  /** Questions at once to one server; default 2. */
  readonly concurrency?: number
  /** How long a list waits for a turn before it is told "later"; default 10,000. */
  readonly holdMs?: number
  /** Milliseconds since 1970. */
  readonly now: () => number
  readonly log: { warn(fields: object, message: string): void }
}

/**
 * The part of a server's limit that is used. A server counts arrivals in windows of its own, and the
 * network bunches what was sent evenly.
 */
const USED_PART = 0.88

const DEFAULT_PER_SECOND = 2
const DEFAULT_CONCURRENCY = 2
const DEFAULT_HOLD_MS = 10_000
/** Longer than any one question may take. */
const LEASE_MS = 30_000
/** Silences in a row until a server is left alone, and for how long at first. */
const SILENCES = 5
const SILENT_PAUSE_MS = 30_000
const THROTTLED_PAUSE_MS = 60_000
const MAX_PAUSE_MS = 3_600_000
/** Work that is still queued when a list comes again, so that the server never idles. */
const KEEP_MS = 2_000
const LEAST_LATER_MS = 250
const LIMITS_RETRY_MS = 500
/** How old a look at the pauses of other workers may be. */
const PAUSE_LOOK_MS = 1_000

/** Makes the manners. Pauses are shared through `memory`, rates and places through `limiter`. */
export function createManners(options: MannersOptions): Manners {
  const servers = new Map<string, Server>()
  const settings = {
    ...options,
    concurrency: options.concurrency ?? DEFAULT_CONCURRENCY,
    holdMs: options.holdMs ?? DEFAULT_HOLD_MS,
  }
  const serverOf = (name: string): Server => {
    const known = servers.get(name)
    if (known !== undefined) return known
    const host = name.slice(name.indexOf(':') + 1)
    const allowed = options.rates?.[host] ?? options.perSecond ?? DEFAULT_PER_SECOND
    const server = createServer(name, allowed * USED_PART)
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
  }
}

type Settings = MannersOptions & { readonly concurrency: number; readonly holdMs: number }

type Held = Extract<Lease, { granted: true }>

interface Waiter {
  readonly turn: Turn
  /** Runs the question; the mood tells how it went. */
  readonly start: () => Promise<Mood>
  readonly fail: (error: unknown) => void
  readonly refuse: (turned: Exclude<Turned<never>, { kind: 'done' }>) => void
}

interface Server {
  readonly name: string
  readonly perSecond: number
  readonly waiting: { readonly live: Waiter[]; readonly bulk: Waiter[] }
  running: number
  pumping: boolean
  pause: { until: number; why: 'throttled' | 'silent' }
  lookedAt: number
  silences: number
  pauses: number
}

function createServer(name: string, perSecond: number): Server {
  return {
    name,
    perSecond,
    waiting: { live: [], bulk: [] },
    running: 0,
    pumping: false,
    pause: { until: 0, why: 'silent' },
    lookedAt: 0,
    silences: 0,
    pauses: 0,
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
    refuse: resolve,
    fail: reject,
    async start() {
      const { value, mood } = await ask()
      resolve({ kind: 'done', value })
      return mood
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

async function startNext(server: Server, settings: Settings): Promise<void> {
  const lease = await settings.limiter.lease(
    `domain:place:${server.name}`,
    settings.concurrency,
    LEASE_MS,
  )
  if (!lease.granted) return sleep(Math.min(lease.retryMs, 100))
  const grant = await settings.limiter.take(`domain:rate:${server.name}`, 1, {
    perSecond: server.perSecond,
    burst: 1,
  })
  if (!grant.granted) {
    await lease.release()
    return sleep(Math.min(grant.retryMs, 1_000))
  }
  dropAborted(server)
  const waiter = server.waiting.live.shift() ?? server.waiting.bulk.shift()
  if (waiter === undefined) return lease.release()
  void serve(server, waiter, lease, settings)
}

async function serve(
  server: Server,
  waiter: Waiter,
  lease: Held,
  settings: Settings,
): Promise<void> {
  server.running++
  try {
    await learn(server, await waiter.start(), settings)
  } catch (error) {
    waiter.fail(error)
  } finally {
    server.running--
    await lease.release().catch(() => undefined)
    void pump(server, settings)
  }
}

async function learn(server: Server, mood: Mood, settings: Settings): Promise<void> {
  if (mood.kind === 'fine') {
    server.silences = 0
    server.pauses = 0
    return
  }
  server.silences = mood.kind === 'silent' ? server.silences + 1 : 0
  if (mood.kind === 'silent' && server.silences < SILENCES) return
  const first = mood.kind === 'silent' ? SILENT_PAUSE_MS : THROTTLED_PAUSE_MS
  const asked = mood.kind === 'throttled' ? mood.retryMs : null
  const ms = Math.min(MAX_PAUSE_MS, asked ?? first * 2 ** server.pauses)
  server.pauses++
  server.silences = 0
  server.pause = { until: settings.now() + ms, why: mood.kind }
  await settings.memory.set([
    { key: `domain:pause:${server.name}`, value: { ...server.pause }, ttlMs: Math.max(1, ms) },
  ])
}

async function isPaused(server: Server, settings: Settings): Promise<boolean> {
  const now = settings.now()
  if (now - server.lookedAt >= PAUSE_LOOK_MS) {
    server.lookedAt = now
    const [held] = await settings.memory.get([`domain:pause:${server.name}`])
    if (typeof held === 'object' && held !== null && 'until' in held && 'why' in held) {
      const until = Number(held['until'])
      const why = held['why'] === 'throttled' ? 'throttled' : 'silent'
      if (until > server.pause.until) server.pause = { until, why }
    }
  }
  return server.pause.until > now
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
