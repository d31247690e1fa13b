import { holdNewest } from './hold-newest.ts'
import { unknownResult, type ProbeResult } from './probe-result.ts'

/** Domains for which a group refuses us, which are left alone while others of it are probed. */
export interface RefusingDomains {
  /** Records a transaction in which we were refused and no recipient was accepted. */
  refused(domain: string): void
  /** Records an accepted recipient. */
  accepted(domain: string): void
  /** Milliseconds until the domain may be probed again; 0 if it may. */
  restMs(domain: string): number
}

/** Consecutive refusals from which on a domain is left alone, and for how many milliseconds. */
const REFUSALS_TO_REST = 3
const REST_MS = 15 * 60_000

/** Domains of one group that are counted. */
const DOMAINS_MAX = 1_000

/** Makes the refusing domains of one group. `now` in milliseconds. */
export function createRefusingDomains(now: () => number): RefusingDomains {
  const domains = new Map<string, { readonly refusals: number; readonly untilMs: number }>()
  return {
    refused(domain) {
      const refusals = (domains.get(domain)?.refusals ?? 0) + 1
      const untilMs = refusals < REFUSALS_TO_REST ? 0 : now() + REST_MS
      holdNewest(domains, domain, { refusals, untilMs }, DOMAINS_MAX)
    },
    accepted(domain) {
      domains.delete(domain)
    },
    restMs: (domain) => Math.max(0, (domains.get(domain)?.untilMs ?? 0) - now()),
  }
}

/** The result of a probe of a resting domain: it waits by itself, not with others of its group. */
export function restingResult(provider: string, restMs: number): ProbeResult {
  return { ...unknownResult('blocked', { provider }), wait: { cause: 'guard', afterMs: restMs } }
}
