import type { DirectAnswer, DnsAnswer } from './dns-answer.ts'
import { createFairSemaphore } from '@plumbline/concurrency/fair-semaphore'
import type { FairLimits, Release } from '@plumbline/concurrency/fair-semaphore'
import { getDomain } from 'tldts'
import { createAnswerCache, type AnswerCache } from './dns-cache.ts'
import { exchange } from './dns-exchange.ts'
import { questionName } from './dns-message.ts'
import type { DnsQuestion, RecordType } from './dns-message.ts'
import { createServerPool } from './dns-pool.ts'
import { askAlongChain } from './dns-query.ts'
import { createSharedQuestions, TIMED_OUT } from './dns-sharing.ts'
import type { Egress } from './egress.ts'

/** For whom a query is made: it waits in turn with those of others. */
export interface DnsCaller {
  readonly lane: 'live' | 'bulk'
  readonly account: string
}

/** Options of a query. */
export interface ResolveOptions {
  readonly signal?: AbortSignal
  /** Default: a single call of no account. */
  readonly caller?: DnsCaller
  /** Disables DNSSEC validation by the resolver (the CD bit). */
  readonly checkingDisabled?: boolean
}

/** Options of a query to a name server itself. */
export interface AskOptions {
  readonly signal?: AbortSignal
  /** Default: a single call of no account. */
  readonly caller?: DnsCaller
  /** Default 3,000. */
  readonly timeoutMs?: number
}

/** A DNS resolver. */
export interface Resolver {
  /**
   * Queries the configured servers. Never throws; when aborted the result is `failed`, `timeout`.
   */
  resolve<T extends RecordType>(
    name: string,
    type: T,
    options?: ResolveOptions,
  ): Promise<DnsAnswer<T>>
  /**
   * Queries one name server itself, without recursion, through the egress guard. Nothing is cached.
   * A reply over 8 KiB counts as malformed.
   */
  ask(
    server: { readonly address: string; readonly port?: number },
    name: string,
    type: RecordType,
    options?: AskOptions,
  ): Promise<DirectAnswer>
}

/** Options of a resolver. */
export interface ResolverOptions {
  /** `ip` or `ip:port` (`[ip]:port` for IPv6); queried in this order. */
  readonly servers: readonly string[]
  readonly egress: Egress
  /** Time-out of one query in all; default 5,000. */
  readonly timeoutMs?: number
  /** Time-out of the first attempt at each server, doubled in the second round; default 1,200. */
  readonly tryMs?: number
  /**
   * Maximum number of concurrent queries of batches; default 256, about what a UDP socket of the
   * kernel buffers. Single calls have a quarter as many more. One account, and the names below one
   * registrable domain whose servers are slow, get a part of these only.
   */
  readonly concurrency?: number
  /** Maximum number of cached results; default 50,000. */
  readonly cacheSize?: number
  /** A monotonic clock in milliseconds. */
  readonly now?: () => number
  /** Called when a server begins to know the DNS root, or no longer does. */
  readonly onRootChange?: (server: string, knowsRoot: boolean) => void
}

/** The same resolver, for one caller. */
export function resolverFor(resolver: Resolver, { lane, account }: DnsCaller): Resolver {
  const caller = { lane, account }
  return {
    resolve: (name, type, options) => resolver.resolve(name, type, { ...options, caller }),
    ask: (server, name, type, options) => resolver.ask(server, name, type, { ...options, caller }),
  }
}

/**
 * Makes a resolver over recursive servers: concurrent equal queries are shared, results are cached,
 * a failure moves on to the next server, truncated replies are repeated over TCP. A negative reply
 * of a server that does not know the DNS root is a failure, `no_root`.
 *
 * @throws if `servers` is empty or malformed
 */
export function createResolver(options: ResolverOptions): Resolver {
  const now = options.now ?? (() => performance.now())
  const cache = createAnswerCache({ size: options.cacheSize ?? 50_000, now })
  const pool = createServerPool({
    ...options,
    tryMs: options.tryMs ?? 1_200,
    now,
    onRootChange: (server, knowsRoot) => takeRootChange(options, cache, server, knowsRoot),
  })
  const permits = createFairSemaphore(permitsOf(options.concurrency ?? 256, now))
  const timeoutMs = options.timeoutMs ?? 5_000
  const waiting = createSharedQuestions()
  const onWire = createSharedQuestions()

  async function resolve(
    name: string,
    type: RecordType,
    { signal, checkingDisabled: cd = false, caller = OWN }: ResolveOptions,
  ): Promise<DnsAnswer> {
    const asked = questionName(name)
    if (asked === null) return { kind: 'failed', reason: 'malformed' }
    if (signal?.aborted === true) return TIMED_OUT
    const key = `${type} ${cd ? 'cd ' : ''}${asked}`
    const held = cache.get(key)
    if (held !== undefined) return held
    const query = async (stopped: AbortSignal): Promise<DnsAnswer> => {
      const end = { at: now() + timeoutMs, signal: stopped }
      const answer = await askAlongChain(pool, { name: asked, type }, cd, end)
      if (!stopped.aborted) cache.put(key, answer)
      return answer
    }
    // The permit is that of the query, which others may still need when its first caller leaves.
    const open = (leave: Release, ended: AbortSignal | undefined): Promise<DnsAnswer> =>
      onWire.open(key, ended, (stopped) => query(stopped).finally(() => leave(!stopped.aborted)))
    // Only callers of the same turn wait together: others may be served sooner.
    const turn = `${caller.lane} ${caller.account} ${key}`
    const joined = onWire.join(key, signal) ?? waiting.join(turn, signal)
    if (joined !== null) return joined
    const place = { ...caller, group: zoneOf(asked) }
    const free = permits.tryEnter(place)
    if (free !== null) return open(free, signal)
    return waiting.open(turn, signal, async (ended) => {
      const leave = await permits.enter({ ...place, signal: ended })
      if (leave === null) return TIMED_OUT
      const known = cache.get(key) ?? onWire.join(key, ended)
      if (known === null) return open(leave, ended)
      leave(false)
      return known
    })
  }

  return {
    resolve: async (name, type, given = {}) => ofType(await resolve(name, type, given), type),
    async ask(server, name, type, given = {}) {
      const asked = questionName(name)
      if (asked === null) return { kind: 'failed', reason: 'malformed' }
      if (!options.egress.permits(server.address)) return { kind: 'failed', reason: 'forbidden' }
      const { caller = OWN, signal = NEVER } = given
      const leave = await permits.enter({ ...caller, group: zoneOf(asked), signal })
      if (leave === null) return { kind: 'failed', reason: 'timeout' }
      try {
        return await askServer(server, { name: asked, type }, options.egress, given)
      } finally {
        leave(!signal.aborted)
      }
    },
  }
}

function takeRootChange(
  options: ResolverOptions,
  cache: AnswerCache,
  server: string,
  knowsRoot: boolean,
): void {
  // Names that were denied since the last valid reply for the root may have been denied by mistake.
  if (!knowsRoot) cache.forgetDenials()
  options.onRootChange?.(server, knowsRoot)
}

function askServer(
  server: { readonly address: string; readonly port?: number },
  question: DnsQuestion,
  egress: Egress,
  { timeoutMs = 3_000, signal = NEVER }: AskOptions,
): Promise<DirectAnswer> {
  const target = { address: server.address, port: server.port ?? 53, trusted: false }
  const limits = { egress, timeoutMs, maxBytes: DIRECT_BYTES, signal }
  return exchange(target, question, DIRECT, limits)
}

const NEVER = new AbortController().signal

/** The caller of queries that are made for no account. */
const OWN: DnsCaller = { lane: 'live', account: '' }

/**
 * Concurrent queries below one registrable domain, as long as its servers are not known to be
 * quick: the dead servers of one hold no more. And the milliseconds within which a quick one
 * replies: resolvers first repeat a query after about as many.
 */
const QUERIES_PER_ZONE = 16
const SLOW_MS = 1_000

/** The permits of a resolver: a quarter as many more are left to single calls. */
function permitsOf(shared: number, now: () => number): FairLimits {
  const groups = { permits: QUERIES_PER_ZONE, slowMs: SLOW_MS, now }
  return { shared, live: Math.ceil(shared / 4), groups }
}

/** The registrable domain of a name, or the name if it has none. */
function zoneOf(name: string): string {
  return getDomain(name, ZONE_OPTIONS) ?? name
}

const ZONE_OPTIONS = {
  allowPrivateDomains: true,
  extractHostname: false,
  validateHostname: false,
} as const

/** A name server is queried for its own data only. */
const DIRECT = { recursionDesired: false, checkingDisabled: false } as const

/** Bytes of a name server's reply: many times those of a zone's SOA, or of its NS and addresses. */
const DIRECT_BYTES = 8_192

/** Safe: a query is keyed by its type, and keeps only records of that type. */
function ofType<T extends RecordType>(answer: DnsAnswer, _type: T): DnsAnswer<T> {
  return answer as DnsAnswer<T>
}
