import { randomBytes } from 'node:crypto'
import { TimeOutError, withTimeOut } from '@plumbline/concurrency/time-out'
import type { Resolver } from '@plumbline/net/resolver'
import type { Port25Health } from './port-25-health.ts'
import type { ProbeResult } from './probe-result.ts'

/** What of ours may be away, so that whoever is asked seems silent. */
export type OurPart = 'resolver' | 'network'

/** Tells hosts and name servers that stay silent from a silence that is ours. */
export interface OutageWatch {
  /** Which part of ours is away, now that a subject met no reply; null if it is theirs. */
  behind(result: ProbeResult): Promise<OurPart | null>
  /**
   * The same for a call that can hardly wait, of the resolver alone: one that left a question of the call without
   * an answer and denies no name for two seconds either is away.
   */
  behindCall(result: ProbeResult): Promise<OurPart | null>
}

/** How long a call that met no answer waits for the resolver to deny a name: five times what takes long. */
const CALL_WAITS_MS = 2_000

/** How long what was found counts; a question or a self-test at most is asked for all that fail in that time. */
const HELD_MS = 2_000

/**
 * How long after it was found away a silence is still the resolver's: twice what a question may take, for those that
 * were asked before it came again.
 */
const AFTERMATH_MS = 10_000

/** Makes the watch of one engine. */
export function createOutageWatch(options: {
  readonly resolver: Resolver
  readonly port25: Port25Health
  readonly now: () => number
}): OutageWatch {
  const { resolver, port25, now } = options
  let held: { readonly away: Promise<boolean>; readonly untilMs: number } | undefined
  let lastAwayMs = -Infinity
  const resolverAway = async (): Promise<boolean> => {
    if (held === undefined || held.untilMs <= now()) {
      held = { away: isAway(resolver), untilMs: now() + HELD_MS }
    }
    if (await held.away) lastAwayMs = now()
    return now() - lastAwayMs < AFTERMATH_MS
  }
  return {
    async behind({ reason }) {
      if (reason === 'connect_failed') return (await port25.isSilent()) ? 'network' : null
      return (await resolverAway()) ? 'resolver' : null
    },
    async behindCall({ reason }) {
      if (reason !== 'dns_failed') return null
      try {
        return (await withTimeOut(CALL_WAITS_MS, resolverAway())) ? 'resolver' : null
      } catch (error) {
        if (error instanceof TimeOutError) return 'resolver'
        throw error
      }
    },
  }
}

/**
 * Asks for a name that nobody has looked up, so that no cache has it: a resolver that works denies it. One that
 * denies without knowing the root of the DNS is there; that is a fault of its own (`dns_unavailable`).
 */
async function isAway(resolver: Resolver): Promise<boolean> {
  const answer = await resolver.resolve(`plumbline-${randomBytes(10).toString('hex')}.com`, 'A')
  return answer.kind === 'failed' && answer.reason !== 'unvouched'
}
