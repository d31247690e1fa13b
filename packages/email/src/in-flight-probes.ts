import type { EngineRequest } from '@plumbline/ports/engine'
import type { Verdict } from './finding.ts'
import type { Ticket } from './queue.ts'
import type { ParsedMailbox } from './syntax.ts'

/** Told what a ticket came to. */
export type Listener = (verdict: Verdict) => void

/** A mailbox with its names on the wire and in memory. */
export interface Wanted {
  readonly mailbox: ParsedMailbox
  readonly address: string
  readonly memoryKey: string
  /** Who asks: what is found out is noted as theirs. */
  readonly account: string
}

/** Tickets under way, so that all who ask the same at the same time share one. */
export interface Flights {
  /** Listens to the ticket of an address; one that is new must be submitted. */
  join(
    wanted: Wanted,
    request: Pick<EngineRequest<'email'>, 'lane' | 'depth'>,
    listener: Listener,
  ): { readonly ticket: Ticket; readonly isNew: boolean }
  /** Listens no more; a ticket that nobody listens to is given up. */
  leave(ticket: Ticket, listener: Listener): void
}

interface Flight {
  readonly ticket: Ticket
  readonly listeners: Listener[]
}

/** Makes the table of one engine. */
export function createFlights(now: () => number): Flights {
  const tables = {
    live: { basic: new Map<string, Flight>(), extended: new Map<string, Flight>() },
    bulk: { basic: new Map<string, Flight>(), extended: new Map<string, Flight>() },
  }
  return {
    join(wanted, { lane, depth }, listener) {
      const flights = tables[lane][depth]
      const held = flights.get(wanted.memoryKey)
      if (held !== undefined) {
        held.listeners.push(listener)
        return { ticket: held.ticket, isNew: false }
      }
      const listeners = [listener]
      const ticket = newTicket(wanted, lane, depth, now(), (verdict) => {
        flights.delete(wanted.memoryKey)
        for (const listen of listeners) listen(verdict)
      })
      flights.set(wanted.memoryKey, { ticket, listeners })
      return { ticket, isNew: true }
    },
    leave(ticket, listener) {
      const flights = tables[ticket.lane][ticket.depth]
      const flight = flights.get(ticket.memoryKey)
      if (ticket.settled || flight?.ticket !== ticket) return
      const place = flight.listeners.indexOf(listener)
      if (place >= 0) flight.listeners.splice(place, 1)
      if (flight.listeners.length > 0) return
      ticket.settled = true
      flights.delete(ticket.memoryKey)
    },
  }
}

function newTicket(
  { mailbox, address, memoryKey, account }: Wanted,
  lane: Ticket['lane'],
  depth: Ticket['depth'],
  queuedMs: number,
  tell: Listener,
): Ticket {
  const ticket: Ticket = {
    address,
    memoryKey,
    account,
    local: mailbox.local,
    domain: mailbox.domain,
    utf8: mailbox.utf8,
    lane,
    depth,
    queuedMs,
    attempts: 0,
    settled: false,
    settle(verdict) {
      if (ticket.settled) return
      ticket.settled = true
      tell(verdict)
    },
  }
  return ticket
}
