import type { EngineRequest } from '@plumbline/ports/engine'
import type { ProbeResult } from './probe-result.ts'
import type { Probe } from './probe-queue.ts'
import type { ParsedMailbox } from './syntax.ts'

/** Called with the result of a probe. */
export type Listener = (result: ProbeResult) => void

/** A mailbox, as sent and as cached. */
export interface ProbeRequest {
  readonly mailbox: ParsedMailbox
  readonly address: string
  readonly memoryKey: string
  /** The account that asks; the cached result notes it. */
  readonly account: string
}

/** Probes in flight: concurrent requests for the same address share one. */
export interface InFlightProbes {
  /** Listens to the probe of an address; the caller submits a new one to the pool. */
  join(
    wanted: ProbeRequest,
    request: Pick<EngineRequest<'email'>, 'lane' | 'depth'>,
    listener: Listener,
    /** Called whenever the host of the address has sent a reply. */
    heard?: () => void,
  ): { readonly probe: Probe; readonly isNew: boolean }
  /** Stops listening; a probe without listeners is given up. */
  leave(probe: Probe, listener: Listener): void
}

interface InFlight {
  readonly probe: Probe
  readonly listeners: Listener[]
  readonly hearing: Map<Listener, () => void>
}

/** Makes the table of probes in flight of one engine. */
export function createInFlightProbes(now: () => number): InFlightProbes {
  const tables = {
    live: { basic: new Map<string, InFlight>(), extended: new Map<string, InFlight>() },
    bulk: { basic: new Map<string, InFlight>(), extended: new Map<string, InFlight>() },
  }
  return {
    join(wanted, { lane, depth }, listener, heard) {
      const inFlight = tables[lane][depth]
      const held = inFlight.get(wanted.memoryKey)
      if (held !== undefined) {
        held.listeners.push(listener)
        if (heard !== undefined) held.hearing.set(listener, heard)
        return { probe: held.probe, isNew: false }
      }
      const listeners = [listener]
      const hearing = new Map<Listener, () => void>()
      if (heard !== undefined) hearing.set(listener, heard)
      const probe = newProbe(wanted, lane, depth, now(), {
        settled(result) {
          inFlight.delete(wanted.memoryKey)
          for (const listen of listeners) listen(result)
        },
        heard() {
          for (const hear of hearing.values()) hear()
        },
      })
      inFlight.set(wanted.memoryKey, { probe, listeners, hearing })
      return { probe, isNew: true }
    },
    leave(probe, listener) {
      const inFlight = tables[probe.lane][probe.depth]
      const current = inFlight.get(probe.memoryKey)
      if (probe.settled || current?.probe !== probe) return
      const at = current.listeners.indexOf(listener)
      if (at >= 0) current.listeners.splice(at, 1)
      current.hearing.delete(listener)
      if (current.listeners.length > 0) return
      probe.settled = true
      inFlight.delete(probe.memoryKey)
      probe.onGivenUp?.()
    },
  }
}

function newProbe(
  { mailbox, address, memoryKey, account }: ProbeRequest,
  lane: Probe['lane'],
  depth: Probe['depth'],
  queuedMs: number,
  tell: { readonly settled: Listener; readonly heard: () => void },
): Probe {
  const probe: Probe = {
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
    settle(result) {
      if (probe.settled) return
      probe.settled = true
      tell.settled(result)
    },
    heard: tell.heard,
    onGivenUp: null,
  }
  return probe
}
