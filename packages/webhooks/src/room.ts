/** Messages under way at once in this process. */
const SLOTS = 256

/** Of these for endpoints whose last message did not arrive. */
const FAILING_SLOTS = 32

/** Messages under way to one endpoint, once it has shown that it takes them. */
const MOST_EACH = 8

/** How many messages may be under way, in all and to each endpoint. */
export interface Room {
  /** How many more there may be: in all, to an endpoint of which nothing is known, and to those that are busy. */
  left(): {
    readonly most: number
    readonly each: number
    readonly busy: Readonly<Record<string, number>>
  }
  /** Counts one more to that endpoint until it is told how that ended; call it once. */
  enter(endpointId: string): (arrived: boolean) => void
}

interface Standing {
  underWay: number
  limit: number
  failing: boolean
}

/** Endpoints whose standing is remembered while nothing is under way to them. */
const REMEMBERED = 10_000

/**
 * Each endpoint begins with one message at a time; each that arrives lets one more go at once, up to eight, and
 * one that fails sets it back to one. Failing endpoints share few slots among them all.
 */
export function createRoom(): Room {
  const standings = new Map<string, Standing>()
  let underWay = 0
  let failingUnderWay = 0

  function left(): ReturnType<Room['left']> {
    const failingRoom = Math.max(0, FAILING_SLOTS - failingUnderWay)
    const busy: Record<string, number> = {}
    let failingGiven = 0
    for (const [id, standing] of standings) {
      const own = Math.max(0, standing.limit - standing.underWay)
      // Of failing endpoints only so many are asked about at a time.
      const isOut = standing.failing && failingGiven >= failingRoom
      if (standing.failing && own > 0 && !isOut) failingGiven += 1
      busy[id] = isOut ? 0 : own
    }
    return { most: SLOTS - underWay, each: 1, busy }
  }

  function enter(endpointId: string): (arrived: boolean) => void {
    const standing = standings.get(endpointId) ?? { underWay: 0, limit: 1, failing: false }
    standings.delete(endpointId)
    standings.set(endpointId, standing)
    const wasFailing = standing.failing
    standing.underWay += 1
    underWay += 1
    if (wasFailing) failingUnderWay += 1
    return (arrived) => {
      standing.underWay -= 1
      underWay -= 1
      if (wasFailing) failingUnderWay -= 1
      standing.failing = !arrived
      standing.limit = arrived ? Math.min(MOST_EACH, standing.limit + 1) : 1
      forget()
    }
  }

  function forget(): void {
    for (const [id, standing] of standings) {
      if (standings.size <= REMEMBERED) return
      if (standing.underWay === 0) standings.delete(id)
    }
  }

  return { left, enter }
}
