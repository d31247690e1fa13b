import type { Depth } from '@plumbline/contract/products'
import type { Verdict } from './finding.ts'
import type { MailRoute } from './mx.ts'

/** One mailbox to be asked about. */
export interface Ticket {
  /** As it goes on the wire: local part and A-label domain. */
  readonly address: string
  /** Where memory holds what is found out. */
  readonly memoryKey: string
  /** Who asked first. */
  readonly account: string
  readonly local: string
  readonly domain: string
  readonly utf8: boolean
  readonly lane: 'live' | 'bulk'
  readonly depth: Depth
  /** By the scheduler's clock. */
  readonly queuedMs: number
  /** Dialogues that broke before there was a reply. */
  attempts: number
  /** Answered or given up: nothing more is to be done. */
  settled: boolean
  settle(verdict: Verdict): void
}

/** The way of mail to a domain that has hosts. */
export type HostsRoute = MailRoute & { readonly kind: 'hosts' }

/** Tickets of one domain that may share a transaction. */
export interface Batch {
  readonly domain: string
  readonly route: HostsRoute
  readonly tickets: readonly Ticket[]
}

interface Line {
  readonly domain: string
  readonly route: HostsRoute
  readonly live: Ticket[]
  readonly bulk: Ticket[]
}

/** What waits for one group: a line for each domain, served in turn, live tickets first. */
export interface GroupQueue {
  readonly size: number
  readonly bulkSize: number
  readonly liveSize: number
  push(ticket: Ticket, route: HostsRoute): void
  /** Gives tickets back to the head of their line. */
  putBack(tickets: readonly Ticket[], route: HostsRoute): void
  /** The next tickets of one domain; those of a domain that `prefers` accepts go first. Null when empty. */
  take(count: number, prefers?: (route: HostsRoute) => boolean): Batch | null
  /** Removes the list tickets queued before the time, or all of them. */
  expire(beforeMs: number): readonly Ticket[]
  /** Removes every ticket of a domain. */
  drain(domain: string): readonly Ticket[]
  /** Removes everything. */
  clear(): readonly Ticket[]
}

/** Lines looked at for one that the open connection can serve. */
const PREFERENCE_LOOKS = 8

interface Lines {
  readonly all: Map<string, Line>
  /** Keys beside the plain one, by domain. */
  readonly kin: Map<string, Set<string>>
  /** Keys of lines with a live ticket. */
  readonly live: Set<string>
  size: number
  bulkSize: number
}

/** Makes an empty queue. */
export function createGroupQueue(): GroupQueue {
  const lines: Lines = { all: new Map(), kin: new Map(), live: new Set(), size: 0, bulkSize: 0 }
  return {
    get size() {
      return lines.size
    },
    get bulkSize() {
      return lines.bulkSize
    },
    get liveSize() {
      return lines.size - lines.bulkSize
    },
    push(ticket, route) {
      lineFor(lines, ticket, route)[ticket.lane].push(ticket)
    },
    putBack(tickets, route) {
      for (const ticket of tickets.toReversed()) {
        lineFor(lines, ticket, route)[ticket.lane].unshift(ticket)
      }
    },
    take: (count, prefers) => take(lines, count, prefers),
    expire: (beforeMs) => expire(lines, beforeMs),
    drain: (domain) => drain(lines, domain),
    clear() {
      const domains = new Set([...lines.all.values()].map((line) => line.domain))
      return [...domains].flatMap((domain) => drain(lines, domain))
    },
  }
}

/** The line of a ticket that is about to join it. */
function lineFor(lines: Lines, ticket: Ticket, route: HostsRoute): Line {
  const { domain } = ticket
  const key = keyOf(ticket, route)
  let line = lines.all.get(key)
  if (line === undefined) {
    line = { domain, route, live: [], bulk: [] }
    lines.all.set(key, line)
    if (key !== domain) {
      const kin = lines.kin.get(domain)
      if (kin === undefined) lines.kin.set(domain, new Set([key]))
      else kin.add(key)
    }
  }
  if (ticket.lane === 'live') lines.live.add(key)
  else lines.bulkSize++
  lines.size++
  return line
}

/** SMTPUTF8 is a parameter of the transaction, and an address to avoid one of the connection. */
function keyOf({ domain, utf8 }: Ticket, { avoid }: HostsRoute): string {
  const name = utf8 ? `${domain} utf8` : domain
  return avoid === undefined ? name : `${name} not ${avoid}`
}

function take(
  lines: Lines,
  count: number,
  prefers: ((route: HostsRoute) => boolean) | undefined,
): Batch | null {
  while (lines.all.size > 0) {
    const key = choose(lines, prefers)
    const line = key === undefined ? undefined : lines.all.get(key)
    if (key === undefined || line === undefined) return null
    const tickets: Ticket[] = []
    shift(lines, line.live, count, tickets)
    shift(lines, line.bulk, count, tickets)
    // To the end of the turn.
    lines.all.delete(key)
    lines.all.set(key, line)
    dropEmpty(lines, key, line)
    if (tickets.length > 0) return { domain: line.domain, route: line.route, tickets }
  }
  return null
}

function choose(
  lines: Lines,
  prefers: ((route: HostsRoute) => boolean) | undefined,
): string | undefined {
  let first: string | undefined
  let looks = 0
  for (const key of lines.live.size > 0 ? lines.live : lines.all.keys()) {
    first ??= key
    const line = lines.all.get(key)
    if (prefers === undefined || (line !== undefined && prefers(line.route))) return key
    if (++looks >= PREFERENCE_LOOKS) break
  }
  return first
}

function shift(lines: Lines, tickets: Ticket[], count: number, taken: Ticket[]): void {
  let used = 0
  while (used < tickets.length && taken.length < count) {
    const ticket = tickets[used++]
    if (ticket !== undefined && !ticket.settled) taken.push(ticket)
  }
  leave(lines, tickets.splice(0, used))
}

function expire(lines: Lines, beforeMs: number): readonly Ticket[] {
  const out: Ticket[] = []
  for (const [key, line] of lines.all) {
    const end = line.bulk.findIndex((ticket) => ticket.queuedMs >= beforeMs)
    const gone = line.bulk.splice(0, end < 0 ? line.bulk.length : end)
    leave(lines, gone)
    out.push(...gone.filter((ticket) => !ticket.settled))
    dropEmpty(lines, key, line)
  }
  return out
}

function drain(lines: Lines, domain: string): readonly Ticket[] {
  const out: Ticket[] = []
  for (const key of [domain, ...(lines.kin.get(domain) ?? [])]) {
    const line = lines.all.get(key)
    if (line === undefined) continue
    const gone = [...line.live.splice(0), ...line.bulk.splice(0)]
    leave(lines, gone)
    out.push(...gone.filter((ticket) => !ticket.settled))
    dropEmpty(lines, key, line)
  }
  return out
}

function leave(lines: Lines, gone: readonly Ticket[]): void {
  lines.size -= gone.length
  for (const ticket of gone) if (ticket.lane === 'bulk') lines.bulkSize--
}

function dropEmpty(lines: Lines, key: string, line: Line): void {
  if (line.live.length === 0) lines.live.delete(key)
  if (line.live.length + line.bulk.length > 0) return
  lines.all.delete(key)
  const kin = lines.kin.get(line.domain)
  if (kin?.delete(key) === true && kin.size === 0) lines.kin.delete(line.domain)
}
