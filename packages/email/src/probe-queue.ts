import { nextTurn, type FairTurns } from '@plumbline/concurrency/fair-turns'
import type { Depth } from '@plumbline/contract/products'
import type { ProbeResult } from './probe-result.ts'
import type { MailRoute } from './mx.ts'

/** A mailbox to probe. */
export interface Probe {
  /** The address as it is sent: local part and A-label domain. */
  readonly address: string
  /** Key of its result in the probe cache. */
  readonly memoryKey: string
  /** The account that asked first. */
  readonly account: string
  readonly local: string
  readonly domain: string
  readonly utf8: boolean
  readonly lane: 'live' | 'bulk'
  readonly depth: Depth
  /** When the probe was queued, in milliseconds of the pool's clock. */
  readonly queuedMs: number
  /** Number of sessions that broke before there was a reply. */
  attempts: number
  /** Whether the probe was answered or given up. */
  settled: boolean
  settle(result: ProbeResult): void
  /** Tells the callers that its host has sent a reply. */
  heard(): void
  /** Called when no caller waits for it any more; set by its current owner. */
  onGivenUp: (() => void) | null
}

/** The mail route of a domain that has hosts. */
export type HostsRoute = MailRoute & {
  readonly kind: 'hosts'
  /** Hosts of other groups, which are tried if none of these replies. */
  readonly others?: HostsRoute
  /** Result of the hosts tried before these. */
  readonly failed?: ProbeResult
}

/** Probes of one domain that may share a transaction. */
export interface Recipients {
  readonly domain: string
  readonly route: HostsRoute
  readonly probes: readonly Probe[]
}

interface DomainQueue {
  readonly domain: string
  readonly route: HostsRoute
  readonly live: Probe[]
  readonly bulk: Probe[]
}

/** The waiting probes of one group: a queue for each domain, served in turn, live probes first. */
export interface ProbeQueue {
  readonly size: number
  readonly bulkSize: number
  readonly liveSize: number
  /** The account of a probe that is served next, or soon; empty if none waits. */
  readonly nextAccount: string
  push(probe: Probe, route: HostsRoute): void
  /** Gives a waiting live probe the turn that another account has, if that comes sooner. */
  advance(probe: Probe, account: string): void
  /** Puts probes back at the head of their queue. */
  putBack(probes: readonly Probe[], route: HostsRoute): void
  /**
   * The next probes of one domain, live ones first; a domain that `prefers` accepts comes first.
   * Null if empty.
   */
  take(count: number, prefers?: (route: HostsRoute) => boolean): Recipients | null
  /** Removes and returns the bulk probes that were queued before a time. */
  expire(beforeMs: number): readonly Probe[]
  /** Removes and returns every probe of a domain. */
  drain(domain: string): readonly Probe[]
  /** Removes and returns all probes. */
  clear(): readonly Probe[]
}

/** Domain queues examined for one that the open connection can serve. */
const PREFERENCE_QUEUES = 8

/** Turns of live probes, which are given on arrival. */
interface Turns extends FairTurns {
  readonly of: WeakMap<Probe, number>
}

interface DomainQueues {
  readonly all: Map<string, DomainQueue>
  readonly turns: Turns
  /** Keys of a domain's queues besides its plain name, by domain. */
  readonly variants: Map<string, Set<string>>
  /** Keys of queues with a live probe. */
  readonly live: Set<string>
  size: number
  bulkSize: number
}

/** Makes an empty queue. */
export function createProbeQueue(): ProbeQueue {
  const queues: DomainQueues = {
    all: new Map(),
    turns: { of: new WeakMap(), last: new Map(), current: 0 },
    variants: new Map(),
    live: new Set(),
    size: 0,
    bulkSize: 0,
  }
  return {
    get size() {
      return queues.size
    },
    get bulkSize() {
      return queues.bulkSize
    },
    get liveSize() {
      return queues.size - queues.bulkSize
    },
    get nextAccount() {
      const [live] = queues.live
      const [any] = queues.all.keys()
      const queue = queues.all.get(live ?? any ?? '')
      return (queue?.live[0] ?? queue?.bulk[0])?.account ?? ''
    },
    push(probe, route) {
      const queue = queueFor(queues, probe, route)
      if (probe.lane === 'live') pushInTurn(queues.turns, queue.live, probe)
      else queue.bulk.push(probe)
    },
    advance: (probe, account) => advance(queues, probe, account),
    putBack(probes, route) {
      for (const probe of probes.toReversed()) {
        queueFor(queues, probe, route)[probe.lane].unshift(probe)
      }
    },
    take: (count, prefers) => take(queues, count, prefers),
    expire: (beforeMs) => expire(queues, beforeMs),
    drain: (domain) => drain(queues, domain),
    clear() {
      const domains = new Set([...queues.all.values()].map((queue) => queue.domain))
      return [...domains].flatMap((domain) => drain(queues, domain))
    },
  }
}

/** The queue that a probe is about to join. */
function queueFor(queues: DomainQueues, probe: Probe, route: HostsRoute): DomainQueue {
  const { domain } = probe
  const key = keyOf(probe, route)
  let queue = queues.all.get(key)
  if (queue === undefined) {
    queue = { domain, route, live: [], bulk: [] }
    queues.all.set(key, queue)
    if (key !== domain) {
      const variants = queues.variants.get(domain)
      if (variants === undefined) queues.variants.set(domain, new Set([key]))
      else variants.add(key)
    }
  }
  if (probe.lane === 'live') queues.live.add(key)
  else queues.bulkSize++
  queues.size++
  return queue
}

/**
 * SMTPUTF8 is a parameter of the transaction, and an address to avoid is one of the connection, so
 * both are part of the key.
 */
function keyOf({ domain, utf8 }: Probe, { avoid }: HostsRoute): string {
  const name = utf8 ? `${domain} utf8` : domain
  return avoid === undefined ? name : `${name} not ${avoid}`
}

function pushInTurn(turns: Turns, live: Probe[], probe: Probe): void {
  insert(turns, live, probe, probe.account, nextTurn(turns, probe.account))
}

function insert(turns: Turns, live: Probe[], probe: Probe, account: string, turn: number): void {
  turns.of.set(probe, turn)
  turns.last.set(account, turn)
  // A probe that is not sent costs its account no turn.
  probe.onGivenUp = () => {
    const last = turns.last.get(account)
    if (last !== undefined) turns.last.set(account, last - 1)
  }
  let at = live.length
  while (at > 0 && turnOf(turns, live[at - 1]) > turn) at--
  live.splice(at, 0, probe)
}

function advance({ all, turns, variants }: DomainQueues, probe: Probe, account: string): void {
  const turn = nextTurn(turns, account)
  if (turn >= turnOf(turns, probe)) return
  for (const key of [probe.domain, ...(variants.get(probe.domain) ?? [])]) {
    const live = all.get(key)?.live ?? []
    const at = live.indexOf(probe)
    if (at < 0) continue
    live.splice(at, 1)
    insert(turns, live, probe, account, turn)
    return
  }
}

function turnOf({ of, current }: Turns, probe: Probe | undefined): number {
  return (probe === undefined ? undefined : of.get(probe)) ?? current
}

function take(
  queues: DomainQueues,
  count: number,
  prefers: ((route: HostsRoute) => boolean) | undefined,
): Recipients | null {
  while (queues.all.size > 0) {
    const key = choose(queues, prefers)
    const queue = key === undefined ? undefined : queues.all.get(key)
    if (key === undefined || queue === undefined) return null
    const probes: Probe[] = []
    if (queue.live.length > 0) queues.turns.current = turnOf(queues.turns, queue.live[0])
    shift(queues, queue.live, count, probes)
    shift(queues, queue.bulk, count, probes)
    // Moves the domain to the end of the order.
    queues.all.delete(key)
    queues.all.set(key, queue)
    dropEmpty(queues, key, queue)
    if (probes.length > 0) return { domain: queue.domain, route: queue.route, probes }
  }
  return null
}

function choose(
  queues: DomainQueues,
  prefers: ((route: HostsRoute) => boolean) | undefined,
): string | undefined {
  if (queues.live.size > 0) return chooseInTurn(queues, prefers)
  let first: string | undefined
  let examined = 0
  for (const key of queues.all.keys()) {
    first ??= key
    const queue = queues.all.get(key)
    if (prefers === undefined || (queue !== undefined && prefers(queue.route))) return key
    if (++examined >= PREFERENCE_QUEUES) break
  }
  return first
}

/** The domain whose first live probe has the lowest turn; a preferred one may be one turn ahead. */
function chooseInTurn(
  queues: DomainQueues,
  prefers: ((route: HostsRoute) => boolean) | undefined,
): string | undefined {
  const firsts = [...queues.live].flatMap((key) => {
    const queue = queues.all.get(key)
    return queue === undefined ? [] : [{ key, queue, turn: turnOf(queues.turns, queue.live[0]) }]
  })
  const lowest = Math.min(...firsts.map(({ turn }) => turn))
  const preferred = firsts.find(
    ({ queue, turn }) => turn <= lowest + 1 && prefers?.(queue.route) === true,
  )
  return (preferred ?? firsts.find(({ turn }) => turn === lowest))?.key
}

function shift(queues: DomainQueues, probes: Probe[], count: number, taken: Probe[]): void {
  let used = 0
  while (used < probes.length && taken.length < count) {
    const probe = probes[used++]
    if (probe !== undefined && !probe.settled) taken.push(probe)
  }
  leave(queues, probes.splice(0, used))
}

function expire(queues: DomainQueues, beforeMs: number): readonly Probe[] {
  const out: Probe[] = []
  for (const [key, queue] of queues.all) {
    const end = queue.bulk.findIndex((probe) => probe.queuedMs >= beforeMs)
    const gone = queue.bulk.splice(0, end < 0 ? queue.bulk.length : end)
    leave(queues, gone)
    out.push(...gone.filter((probe) => !probe.settled))
    dropEmpty(queues, key, queue)
  }
  return out
}

function drain(queues: DomainQueues, domain: string): readonly Probe[] {
  const out: Probe[] = []
  for (const key of [domain, ...(queues.variants.get(domain) ?? [])]) {
    const queue = queues.all.get(key)
    if (queue === undefined) continue
    const gone = [...queue.live.splice(0), ...queue.bulk.splice(0)]
    leave(queues, gone)
    out.push(...gone.filter((probe) => !probe.settled))
    dropEmpty(queues, key, queue)
  }
  return out
}

function leave(queues: DomainQueues, gone: readonly Probe[]): void {
  queues.size -= gone.length
  for (const probe of gone) {
    if (probe.lane === 'bulk') queues.bulkSize--
    else probe.onGivenUp = null
  }
  if (queues.size === queues.bulkSize) queues.turns.last.clear()
}

function dropEmpty(queues: DomainQueues, key: string, queue: DomainQueue): void {
  if (queue.live.length === 0) queues.live.delete(key)
  if (queue.live.length + queue.bulk.length > 0) return
  queues.all.delete(key)
  const variants = queues.variants.get(queue.domain)
  if (variants?.delete(key) === true && variants.size === 0) queues.variants.delete(queue.domain)
}
