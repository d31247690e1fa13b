import { randomBytes } from 'node:crypto'
import { TimeOutError, withTimeOut } from '@plumbline/concurrency/time-out'
import type { Resolver } from '@plumbline/net/resolver'
import type { Port25Health } from './port-25-health.ts'
import type { ProbeResult } from './probe-result.ts'

/** A component of ours that may have failed, so that others seem not to reply. */
export type OurPart = 'resolver' | 'network'

/**
 * Distinguishes hosts and name servers that do not reply from a failure of our own resolver or
 * network.
 */
export interface OutageWatch {
  /**
   * Which component of ours has failed, after a subject got no reply; null if the fault is not
   * ours.
   */
  failedPart(result: ProbeResult): Promise<OurPart | null>
  /**
   * The same for a live call, for the resolver alone: it has failed if it left a query of the call
   * unanswered and does not answer a test query within two seconds either.
   */
  failedPartOfCall(result: ProbeResult): Promise<OurPart | null>
}

/** Milliseconds that a live call waits for the resolver's test query: five times a slow reply. */
const CALL_WAITS_MS = 2_000

/** Milliseconds for which a result is reused, so that many failures share one test. */
const HELD_MS = 2_000

/**
 * Milliseconds after a failure of the resolver in which missing replies are still attributed to it:
 * twice the time-out of a query, for those sent before it recovered.
 */
const AFTERMATH_MS = 10_000

/** Makes the outage watch of one engine. */
export function createOutageWatch(options: {
  readonly resolver: Resolver
  readonly port25: Port25Health
  readonly now: () => number
}): OutageWatch {
  const { resolver, port25, now } = options
  let held: { readonly isDown: Promise<boolean>; readonly untilMs: number } | undefined
  let lastDownMs = -Infinity
  const isResolverDown = async (): Promise<boolean> => {
    if (held === undefined || held.untilMs <= now()) {
      held = { isDown: isDown(resolver), untilMs: now() + HELD_MS }
    }
    if (await held.isDown) lastDownMs = now()
    return now() - lastDownMs < AFTERMATH_MS
  }
  return {
    async failedPart({ reason }) {
      if (reason === 'connect_failed') return (await port25.isSilent()) ? 'network' : null
      return (await isResolverDown()) ? 'resolver' : null
    },
    async failedPartOfCall({ reason }) {
      if (reason !== 'dns_failed') return null
      try {
        return (await withTimeOut(CALL_WAITS_MS, isResolverDown())) ? 'resolver' : null
      } catch (error) {
        if (error instanceof TimeOutError) return 'resolver'
        throw error
      }
    },
  }
}

/**
 * Queries a random name, which no cache holds: a working resolver answers that it does not exist. A
 * resolver that answers without knowing the root of the DNS counts as working here; that fault is
 * reported separately (`dns_unavailable`).
 */
async function isDown(resolver: Resolver): Promise<boolean> {
  const answer = await resolver.resolve(`plumbline-${randomBytes(10).toString('hex')}.com`, 'A')
  return answer.kind === 'failed' && answer.reason !== 'no_root'
}
