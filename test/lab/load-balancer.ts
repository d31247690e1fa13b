import { setTimeout as wait } from 'node:timers/promises'
import type { TestService } from '@plumbline/testkit/service'

/** Where calls enter, as a load balancer leads them. */
export interface LoadBalancer extends AsyncDisposable {
  /** Base URL for the next call. */
  url(): string
}

/**
 * Time between two questions to an API whether it takes calls; balancers ask each second or more.
 */
const LOOK_MS = 500

/**
 * Leads calls by turns to the APIs that said last that they take calls; a single one gets them all.
 */
export function openLoadBalancer(apis: readonly [TestService, ...TestService[]]): LoadBalancer {
  const [first] = apis
  const stop = new AbortController()
  const ready = new Set<TestService>(apis)
  const looking = apis.length === 1 ? Promise.resolve() : look(apis, ready, stop.signal)
  let turn = 0
  return {
    url: () => {
      const open = apis.filter((api) => ready.has(api))
      return (open[turn++ % Math.max(1, open.length)] ?? first).url
    },
    [Symbol.asyncDispose]: async () => {
      stop.abort()
      await looking
    },
  }
}

async function look(
  apis: readonly TestService[],
  ready: Set<TestService>,
  until: AbortSignal,
): Promise<void> {
  while (!until.aborted) {
    for (const api of apis) {
      const answer = await fetch(new URL('/readyz', api.url)).catch(() => undefined)
      await answer?.body?.cancel()
      if (answer?.status === 200) ready.add(api)
      else ready.delete(api)
    }
    await wait(LOOK_MS, undefined, { signal: until }).catch(() => undefined)
  }
}
