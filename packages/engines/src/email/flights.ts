import type { EngineRequest } from '@plumbline/contract/engine'
import type { Verdict } from './finding.ts'
import type { Ticket } from './queue.ts'
import type { ParsedMailbox } from './syntax.ts'

/** Tickets under way, so that all who ask the same at the same time share one. */
export interface Flights {
  /** Listens to the ticket of an address; the ticket is given where it is new and must be submitted. */
  join(
    mailbox: ParsedMailbox,
    request: Pick<EngineRequest<'email'>, 'lane' | 'depth'>,
    listen: (verdict: Verdict) => void,
  ): { readonly leave: () => void; readonly submit: Ticket | null }
}

interface Flight {
  readonly ticket: Ticket
  readonly listeners: Set<(verdict: Verdict) => void>
}

/** Makes the table of one engine. A ticket that nobody listens to any more is given up. */
export function createFlights(now: () => number): Flights {
  const flights = new Map<string, Flight>()
  return {
    join(mailbox, request, listen) {
      const address = `${mailbox.local}@${mailbox.domain}`
      const key = `${request.lane} ${request.depth} ${address}`
      const held = flights.get(key)
      const flight = held ?? newFlight(key, address, mailbox, request, flights, now())
      flight.listeners.add(listen)
      const leave = (): void => {
        flight.listeners.delete(listen)
        if (flight.listeners.size > 0 || flight.ticket.settled) return
        flight.ticket.settled = true
        flights.delete(key)
      }
      return { leave, submit: held === undefined ? flight.ticket : null }
    },
  }
}

function newFlight(
  key: string,
  address: string,
  mailbox: ParsedMailbox,
  request: Pick<EngineRequest<'email'>, 'lane' | 'depth'>,
  flights: Map<string, Flight>,
  queuedMs: number,
): Flight {
  const listeners = new Set<(verdict: Verdict) => void>()
  const ticket: Ticket = {
    address,
    local: mailbox.local,
    domain: mailbox.domain,
    utf8: mailbox.utf8,
    lane: request.lane,
    depth: request.depth,
    queuedMs,
    attempts: 0,
    settled: false,
    settle(verdict) {
      if (ticket.settled) return
      ticket.settled = true
      flights.delete(key)
      for (const listen of listeners) listen(verdict)
      listeners.clear()
    },
  }
  const flight = { ticket, listeners }
  flights.set(key, flight)
  return flight
}
