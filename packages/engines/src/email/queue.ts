import type { Depth } from '@plumbline/contract/products'
import type { Verdict } from './finding.ts'
import type { MailRoute } from './mx.ts'

/** One mailbox to be asked about. */
export interface Ticket {
  /** As it goes on the wire: local part and A-label domain. */
  readonly address: string
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

/** Makes an empty queue. */
export function createGroupQueue(): GroupQueue {
  const lines = new Map<string, Line>()
  const liveLines = new Set<string>()
  let size = 0
  let bulkSize = 0

  const removed = (key: string, line: Line): void => {
    if (line.live.length === 0) liveLines.delete(key)
    if (line.live.length + line.bulk.length === 0) lines.delete(key)
  }
  const shift = (tickets: Ticket[], count: number, taken: Ticket[]): void => {
    let used = 0
    while (used < tickets.length && taken.length < count) {
      const ticket = tickets[used++]
      if (ticket === undefined) break
      size--
      if (ticket.lane === 'bulk') bulkSize--
      if (!ticket.settled) taken.push(ticket)
    }
    tickets.splice(0, used)
  }
  const takeFrom = (key: string, count: number): Batch | null => {
    const line = lines.get(key)
    if (line === undefined) return null
    const taken: Ticket[] = []
    shift(line.live, count, taken)
    shift(line.bulk, count, taken)
    // To the end of the turn.
    lines.delete(key)
    lines.set(key, line)
    removed(key, line)
    return { domain: line.domain, route: line.route, tickets: taken }
  }
  const choose = (prefers: ((route: HostsRoute) => boolean) | undefined): string | undefined => {
    const pool: Iterable<string> = liveLines.size > 0 ? liveLines : lines.keys()
    let first: string | undefined
    let looks = 0
    for (const key of pool) {
      first ??= key
      const line = lines.get(key)
      if (prefers === undefined || (line !== undefined && prefers(line.route))) return key
      if (++looks >= PREFERENCE_LOOKS) break
    }
    return first
  }

  const lineOf = (ticket: Ticket, route: HostsRoute): Line => {
    // SMTPUTF8 is a parameter of the transaction, so such names keep to themselves.
    const key = ticket.utf8 ? `${ticket.domain} utf8` : ticket.domain
    let line = lines.get(key)
    if (line === undefined) {
      line = { domain: ticket.domain, route, live: [], bulk: [] }
      lines.set(key, line)
    }
    if (ticket.lane === 'live') liveLines.add(key)
    else bulkSize++
    size++
    return line
  }

  return {
    get size() {
      return size
    },
    get bulkSize() {
      return bulkSize
    },
    get liveSize() {
      return size - bulkSize
    },
    push(ticket, route) {
      lineOf(ticket, route)[ticket.lane].push(ticket)
    },
    putBack(tickets, route) {
      for (const ticket of tickets.toReversed()) lineOf(ticket, route)[ticket.lane].unshift(ticket)
    },
    take(count, prefers) {
      while (lines.size > 0) {
        const key = choose(prefers)
        if (key === undefined) return null
        const batch = takeFrom(key, count)
        if (batch !== null && batch.tickets.length > 0) return batch
      }
      return null
    },
    expire(beforeMs) {
      const out: Ticket[] = []
      for (const [key, line] of lines) {
        const end = line.bulk.findIndex((ticket) => ticket.queuedMs >= beforeMs)
        const gone = line.bulk.splice(0, end < 0 ? line.bulk.length : end)
        size -= gone.length
        bulkSize -= gone.length
        out.push(...gone.filter((ticket) => !ticket.settled))
        removed(key, line)
      }
      return out
    },
    drain(domain) {
      const out: Ticket[] = []
      for (const key of [domain, `${domain} utf8`]) {
        const line = lines.get(key)
        if (line === undefined) continue
        const all = [...line.live.splice(0), ...line.bulk.splice(0)]
        size -= all.length
        bulkSize -= all.filter((ticket) => ticket.lane === 'bulk').length
        out.push(...all.filter((ticket) => !ticket.settled))
        removed(key, line)
      }
      return out
    },
    clear() {
      return [...new Set([...lines.values()].map((line) => line.domain))].flatMap((domain) =>
        this.drain(domain),
      )
    },
  }
}
