import { setTimeout as wait } from 'node:timers/promises'
import type { TestService } from '@plumbline/testkit/service'

/** Distributes requests among the APIs that are ready. */
export interface LoadBalancer extends AsyncDisposable {
  /** Base URL of the API for the next request. */
  url(): string
}

/** Milliseconds between two readiness checks of an API; load balancers usually check each second or less often. */
const POLL_MS = 500

/** Sends requests to ready APIs in turn; a single API gets all of them and is not checked. */
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
    await wait(POLL_MS, undefined, { signal: until }).catch(() => undefined)
  }
}
