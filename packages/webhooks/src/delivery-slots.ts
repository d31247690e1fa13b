/** Concurrent messages in this process. */
const SLOTS = 256

/** Of these, messages to endpoints whose last message failed. */
const FAILING_SLOTS = 32

/** Concurrent messages to one endpoint that has proven to accept them. */
const MOST_EACH = 8

/** Limits concurrent messages, in all and to each endpoint. */
export interface DeliverySlots {
  /** Free slots: in all, for an unknown endpoint, and for those with messages in flight. */
  left(): {
    readonly most: number
    readonly each: number
    readonly busy: Readonly<Record<string, number>>
  }
  /**
   * Takes a slot for that endpoint until the returned function is called, once, with the result.
   */
  enter(endpointId: string): (arrived: boolean) => void
}

interface EndpointSlots {
  underWay: number
  limit: number
  failing: boolean
}

/** Endpoints whose state is remembered while nothing is in flight to them. */
const REMEMBERED = 10_000

/**
 * Each endpoint starts with one message at a time; each success allows one more, up to eight, and a
 * failure resets it to one. Failing endpoints share a few slots.
 */
export function createDeliverySlots(): DeliverySlots {
  const endpoints = new Map<string, EndpointSlots>()
  let underWay = 0
  let failingUnderWay = 0

  function left(): ReturnType<DeliverySlots['left']> {
    const failingLeft = Math.max(0, FAILING_SLOTS - failingUnderWay)
    const busy: Record<string, number> = {}
    let failingGiven = 0
    for (const [id, endpoint] of endpoints) {
      const own = Math.max(0, endpoint.limit - endpoint.underWay)
      // Of failing endpoints only so many are asked about at a time.
      const isOut = endpoint.failing && failingGiven >= failingLeft
      if (endpoint.failing && own > 0 && !isOut) failingGiven += 1
      busy[id] = isOut ? 0 : own
    }
    return { most: SLOTS - underWay, each: 1, busy }
  }

  function enter(endpointId: string): (arrived: boolean) => void {
    const endpoint = endpoints.get(endpointId) ?? { underWay: 0, limit: 1, failing: false }
    endpoints.delete(endpointId)
    endpoints.set(endpointId, endpoint)
    const wasFailing = endpoint.failing
    endpoint.underWay += 1
    underWay += 1
    if (wasFailing) failingUnderWay += 1
    return (arrived) => {
      endpoint.underWay -= 1
      underWay -= 1
      if (wasFailing) failingUnderWay -= 1
      endpoint.failing = !arrived
      endpoint.limit = arrived ? Math.min(MOST_EACH, endpoint.limit + 1) : 1
      forget()
    }
  }

  function forget(): void {
    for (const [id, endpoint] of endpoints) {
      if (endpoints.size <= REMEMBERED) return
      if (endpoint.underWay === 0) endpoints.delete(id)
    }
  }

  return { left, enter }
}
