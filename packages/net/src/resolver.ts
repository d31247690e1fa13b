import type { DirectAnswer, DnsAnswer } from './dns-answer.ts'
import { createSemaphore } from '@plumbline/concurrency/semaphore'
import { orOnAbort } from '@plumbline/concurrency/time-out'
import { createAnswerCache, type AnswerCache } from './dns-cache.ts'
import { linksFrom, MAX_LINKS, negativeTtlSeconds } from './dns-chain.ts'
import { exchange } from './dns-exchange.ts'
import { questionName } from './dns-message.ts'
import type { DnsQuestion, RecordType } from './dns-message.ts'
import { createServerPool } from './dns-pool.ts'
import type { QueryDeadline, ServerPool } from './dns-pool.ts'
import type { Egress } from './egress.ts'

/** Options of a query. */
export interface ResolveOptions {
  readonly signal?: AbortSignal
  /** Disables DNSSEC validation by the resolver (the CD bit). */
  readonly checkingDisabled?: boolean
}

/** Options of a query to a name server itself. */
export interface AskOptions {
  readonly signal?: AbortSignal
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
   * Maximum number of concurrent queries; default 256, about what a UDP socket of the kernel
   * buffers.
   */
  readonly concurrency?: number
  /** Maximum number of cached results; default 50,000. */
  readonly cacheSize?: number
  /** A monotonic clock in milliseconds. */
  readonly now?: () => number
  /** Called when a server begins to know the DNS root, or no longer does. */
  readonly onRootChange?: (server: string, knowsRoot: boolean) => void
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
  const onWire = createSemaphore(options.concurrency ?? 256)
  const timeoutMs = options.timeoutMs ?? 5_000
  const openQuestions = new Map<string, OpenQuestion>()

  function begin(key: string, question: DnsQuestion, cd: boolean): OpenQuestion {
    const controller = new AbortController()
    const run = async (): Promise<DnsAnswer> => {
      const leave = await onWire.enter()
      try {
        const end = { at: now() + timeoutMs, signal: controller.signal }
        const answer = await follow(pool, question, cd, end)
        if (!controller.signal.aborted) cache.put(key, answer)
        return answer
      } finally {
        leave()
        if (openQuestions.get(key) === open) openQuestions.delete(key)
      }
    }
    const open: OpenQuestion = { waiters: 0, controller, answer: Promise.resolve().then(run) }
    openQuestions.set(key, open)
    return open
  }

  async function resolve(
    name: string,
    type: RecordType,
    given: ResolveOptions,
  ): Promise<DnsAnswer> {
    const asked = questionName(name)
    if (asked === null) return { kind: 'failed', reason: 'malformed' }
    if (given.signal?.aborted === true) return { kind: 'failed', reason: 'timeout' }
    const cd = given.checkingDisabled === true
    const key = `${type} ${cd ? 'cd ' : ''}${asked}`
    const held = cache.get(key)
    if (held !== undefined) return held
    const open = openQuestions.get(key) ?? begin(key, { name: asked, type }, cd)
    open.waiters++
    try {
      return await (given.signal === undefined
        ? open.answer
        : orOnAbort(open.answer, given.signal, TIMED_OUT))
    } finally {
      // No caller is left: the sockets are closed at once, and a later caller starts again.
      if (--open.waiters === 0 && openQuestions.get(key) === open) {
        openQuestions.delete(key)
        open.controller.abort()
      }
    }
  }

  return {
    resolve: async (name, type, given = {}) => ofType(await resolve(name, type, given), type),
    async ask(server, name, type, given = {}) {
      const asked = questionName(name)
      if (asked === null) return { kind: 'failed', reason: 'malformed' }
      if (!options.egress.permits(server.address)) return { kind: 'failed', reason: 'forbidden' }
      const leave = await onWire.enter()
      try {
        return await askServer(server, { name: asked, type }, options.egress, given)
      } finally {
        leave()
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
  { timeoutMs = 3_000, signal = new AbortController().signal }: AskOptions,
): Promise<DirectAnswer> {
  const target = { address: server.address, port: server.port ?? 53, trusted: false }
  const limits = { egress, timeoutMs, maxBytes: DIRECT_BYTES, signal }
  return exchange(target, question, DIRECT, limits)
}

const TIMED_OUT: DnsAnswer = { kind: 'failed', reason: 'timeout' }

/** A name server is queried for its own data only. */
const DIRECT = { recursionDesired: false, checkingDisabled: false } as const

/** Bytes of a name server's reply: many times those of a zone's SOA, or of its NS and addresses. */
const DIRECT_BYTES = 8_192

/**
 * Records of an answer, the first ones: no mail host, name server or address beyond them is used.
 * Those of TXT are all kept, since one of them may be the policy that is looked for.
 */
const MAX_RECORDS = 64

/** A query in flight, shared by all callers. */
interface OpenQuestion {
  waiters: number
  readonly controller: AbortController
  readonly answer: Promise<DnsAnswer>
}

async function follow(
  pool: ServerPool,
  question: DnsQuestion,
  cd: boolean,
  end: QueryDeadline,
): Promise<DnsAnswer> {
  const chain = new Set([question.name])
  let target = question.name
  let ttlSeconds = Infinity
  for (;;) {
    const asked = target
    const reply = await pool.ask({ name: asked, type: question.type }, cd, end)
    if (typeof reply === 'string') return { kind: 'failed', reason: reply }
    for (const link of linksFrom(asked, question.type, reply.answers)) {
      target = link.data
      ttlSeconds = Math.min(ttlSeconds, link.ttlSeconds)
      if (chain.has(target) || chain.size > MAX_LINKS) return { kind: 'failed', reason: 'loop' }
      chain.add(target)
    }
    const cname = target === question.name ? {} : { cname: target }
    const all = reply.answers.filter((r) => r.type === question.type && r.name === target)
    const found = question.type === 'TXT' ? all : all.slice(0, MAX_RECORDS)
    if (found.length > 0) {
      const least = Math.min(ttlSeconds, ...found.map((record) => record.ttlSeconds))
      return { kind: 'records', records: found.map((r) => r.data), ttlSeconds: least, ...cname }
    }
    const negative = negativeTtlSeconds(reply)
    // A chain that leads out of the reply, without a denial, is continued by another query at its
    // end.
    if (reply.code !== 3 && target !== asked && negative === null) continue
    const kind = reply.code === 3 ? 'nxdomain' : 'nodata'
    return { kind, ttlSeconds: Math.min(ttlSeconds, negative ?? 0), ...cname }
  }
}

/** Safe: a query is keyed by its type, and keeps only records of that type. */
function ofType<T extends RecordType>(answer: DnsAnswer, _type: T): DnsAnswer<T> {
  return answer as DnsAnswer<T>
}
