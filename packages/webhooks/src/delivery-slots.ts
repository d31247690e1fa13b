import type { DueDelivery, WantedDeliveries } from '@plumbline/db/webhooks/deliveries'

/** Concurrent messages in this process. */
const SLOTS = 256

/** Of these, messages to endpoints whose last message failed. */
const FAILING_SLOTS = 32

/** Concurrent messages to one endpoint that has proven to accept them. */
const MOST_EACH = 8

/**
 * Concurrent messages of one account: a quarter, so that slow endpoints of one leave slots for
 * others.
 */
const MOST_OF_ACCOUNT = SLOTS / 4

/** An endpoint and its account. */
type Destination = Pick<DueDelivery, 'endpointId' | 'accountId'>

/** Limits concurrent messages, in all, of each account and to each endpoint. */
export interface DeliverySlots {
  /**
   * Free slots: in all, for an unknown endpoint, for each known one, for those that fail together,
   * for an account without any in flight, and for those with some.
   */
  left(): WantedDeliveries
  /**
   * Takes a slot for that endpoint until the returned function is called, once, with the result.
   */
  enter(destination: Destination): (arrived: boolean) => void
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
 * failure resets it to one. Failing endpoints share a few slots, and no account has more than a
 * quarter of all.
 */
export function createDeliverySlots(): DeliverySlots {
  const endpoints = new Map<string, EndpointSlots>()
  const accounts = new Map<string, number>()
  let underWay = 0
  let failingUnderWay = 0

  function left(): ReturnType<DeliverySlots['left']> {
    const known = [...endpoints]
    const busy = Object.fromEntries(
      known.map(([id, { limit, underWay: count }]) => [id, Math.max(0, limit - count)]),
    )
    const failing = known.flatMap(([id, endpoint]) => (endpoint.failing ? [id] : []))
    const ofFailing = Math.max(0, FAILING_SLOTS - failingUnderWay)
    const busyAccounts = Object.fromEntries(
      [...accounts].map(([id, count]) => [id, Math.max(0, MOST_OF_ACCOUNT - count)]),
    )
    const most = SLOTS - underWay
    return { most, each: 1, busy, failing, ofFailing, ofAccount: MOST_OF_ACCOUNT, busyAccounts }
  }

  function enter({ endpointId, accountId }: Destination): (arrived: boolean) => void {
    const endpoint = endpoints.get(endpointId) ?? { underWay: 0, limit: 1, failing: false }
    endpoints.delete(endpointId)
    endpoints.set(endpointId, endpoint)
    const wasFailing = endpoint.failing
    endpoint.underWay += 1
    underWay += 1
    countOf(accountId, 1)
    if (wasFailing) failingUnderWay += 1
    return (arrived) => {
      endpoint.underWay -= 1
      underWay -= 1
      countOf(accountId, -1)
      if (wasFailing) failingUnderWay -= 1
      endpoint.failing = !arrived
      endpoint.limit = arrived ? Math.min(MOST_EACH, endpoint.limit + 1) : 1
      forget()
    }
  }

  function countOf(accountId: string, more: 1 | -1): void {
    const count = (accounts.get(accountId) ?? 0) + more
    if (count === 0) accounts.delete(accountId)
    else accounts.set(accountId, count)
  }

  function forget(): void {
    for (const [id, endpoint] of endpoints) {
      if (endpoints.size <= REMEMBERED) return
      if (endpoint.underWay === 0) endpoints.delete(id)
    }
  }

  return { left, enter }
}
