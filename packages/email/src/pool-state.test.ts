import { describe, expect, test } from 'vitest'
import type { Limiter } from '@plumbline/ports/limiter'
import { ask, testEngine, zoneOf } from './engine-fixture.ts'
import { processLimiter, processMemory, startSmtp } from './smtp-fixture.ts'
import { POOL_TRANSITIONS, transition } from './pool-state.ts'
import type { PoolPart, PoolState } from './pool-state.ts'
import { createCircuitBreaker } from './circuit-breaker.ts'
import { createPace } from './pace.ts'

const MINUTE_MS = 60_000

function statesOf<P extends PoolPart>(part: P): PoolState<P>[] {
  return Object.keys(POOL_TRANSITIONS[part]) as PoolState<P>[]
}

describe('the states of the pool', () => {
  test.each(['connection', 'rate', 'circuit'] as const)(
    'a %s makes the transitions of its table and throws on every other',
    (part) => {
      const table: Readonly<Record<string, readonly string[]>> = POOL_TRANSITIONS[part]
      for (const from of statesOf(part)) {
        for (const to of statesOf(part)) {
          const change = (): string => transition(part, from, to)
          if (table[from]?.includes(to) === true) expect(change()).toBe(to)
          else
            expect(change).toThrow(
              [part, ': expected a listed transition, got ', from, ' to ', to].join(''),
            )
        }
      }
    },
  )

  test('each state but the first is reached from the first', () => {
    for (const part of ['connection', 'rate', 'circuit'] as const) {
      const table: Readonly<Record<string, readonly string[]>> = POOL_TRANSITIONS[part]
      const [first = ''] = statesOf(part)
      const reached = new Set([first])
      for (const state of reached) for (const next of table[state] ?? []) reached.add(next)
      expect([...reached].toSorted()).toEqual(statesOf(part).toSorted())
    }
  })
})

describe('a circuit breaker', () => {
  function breakerAt(memory = processMemory()) {
    const clock = { nowMs: 1_000_000 }
    const failed = (error: unknown): never => {
      throw error
    }
    const breaker = createCircuitBreaker('email:breaker:g', memory, () => clock.nowMs, failed)
    return { breaker, clock, memory }
  }

  test('opens at the third refusal in a row, and an acceptance between them restarts the count', () => {
    const { breaker } = breakerAt()
    breaker.refused(null)
    breaker.refused(null)
    breaker.accepted()
    breaker.refused(null)
    breaker.refused(null)
    expect([breaker.state(), breaker.openMs()]).toEqual(['closed', 0])
    breaker.refused(null)
    expect([breaker.state(), breaker.openMs()]).toEqual(['open', 15 * MINUTE_MS])
  })

  test('is half open if its pause lasts longer than any, since the clock was set back', async () => {
    const { breaker, clock, memory } = breakerAt()
    for (let count = 0; count < 3; count++) breaker.refused(null)
    await breaker.refresh()
    clock.nowMs -= 24 * 60 * MINUTE_MS
    expect([breaker.state(), breaker.openMs()]).toEqual(['half_open', 0])
    breaker.refused(null)
    expect(breaker.openMs()).toBe(30 * MINUTE_MS)
    const other = breakerAt(memory)
    other.clock.nowMs = clock.nowMs
    await other.breaker.refresh()
    expect(other.breaker.openMs()).toBe(30 * MINUTE_MS)
    other.clock.nowMs -= 24 * 60 * MINUTE_MS
    breaker.accepted()
    for (let count = 0; count < 3; count++) breaker.refused(null)
    await other.breaker.refresh()
    expect([other.breaker.state(), other.breaker.openMs()]).toEqual(['half_open', 0])
  })

  test('is open for the longest pause in a worker whose clock is behind', async () => {
    const { breaker, clock, memory } = breakerAt()
    for (let count = 0; count < 3; count++) breaker.refused(null)
    for (let times = 1; times < 6; times++) {
      clock.nowMs += breaker.openMs()
      breaker.refused(null)
    }
    expect(breaker.openMs()).toBe(6 * 60 * MINUTE_MS)
    const other = breakerAt(memory)
    other.clock.nowMs = clock.nowMs - 10_000
    await other.breaker.refresh()
    expect(other.breaker.state()).toBe('open')
  })

  test('is half open after its pause: one refusal opens it for twice as long, an acceptance closes it', () => {
    const { breaker, clock } = breakerAt()
    for (let count = 0; count < 3; count++) breaker.refused(null)
    clock.nowMs += 15 * MINUTE_MS
    expect([breaker.state(), breaker.openMs()]).toEqual(['half_open', 0])
    breaker.refused(null)
    expect([breaker.state(), breaker.openMs()]).toEqual(['open', 30 * MINUTE_MS])
    clock.nowMs += 30 * MINUTE_MS
    expect(breaker.state()).toBe('half_open')
    breaker.accepted()
    expect([breaker.state(), breaker.openMs()]).toEqual(['closed', 0])
  })

  test('opens if twenty customers refuse us in a row, and no trial is decided by one of them', () => {
    const { breaker, clock } = breakerAt()
    const refuse = (count: number): void => {
      for (let no = 0; no < count; no++) breaker.refused(`customer${no}.example`)
    }
    for (let round = 0; round < 3; round++) refuse(19)
    expect(breaker.state()).toBe('closed')
    breaker.accepted()
    refuse(19)
    expect(breaker.state()).toBe('closed')
    refuse(20)
    expect(breaker.state()).toBe('open')
    clock.nowMs += 15 * MINUTE_MS
    refuse(19)
    expect(breaker.state()).toBe('half_open')
    refuse(20)
    expect(breaker.openMs()).toBe(30 * MINUTE_MS)
  })

  test('is open, after the shared memory was read, if another worker has opened it', async () => {
    const first = breakerAt()
    for (let count = 0; count < 3; count++) first.breaker.refused(null)
    const second = breakerAt(first.memory)
    expect(second.breaker.state()).toBe('closed')
    await second.breaker.refresh()
    expect([second.breaker.state(), second.breaker.openMs()]).toEqual(['open', 15 * MINUTE_MS])
    const late = breakerAt(first.memory)
    late.clock.nowMs += 20 * MINUTE_MS
    await late.breaker.refresh()
    expect(late.breaker.state()).toBe('half_open')
  })
})

describe('the pace of a group', () => {
  test('adds a connection after four good transactions on each, and halves them when throttled', () => {
    const clock = { nowMs: 0 }
    const pace = createPace(2, 3, () => clock.nowMs)
    for (let count = 0; count < 7; count++) pace.succeeded()
    expect(pace.connections()).toBe(2)
    for (let count = 0; count < 20; count++) pace.succeeded()
    expect(pace.connections()).toBe(3)
    pace.throttled()
    expect([pace.connections(), pace.pausedUntilMs]).toEqual([1, 2_000])
    pace.throttled()
    expect([pace.connections(), pace.pausedUntilMs]).toEqual([1, 4_000])
  })
})

test('the leases of a connection, of its group and its address, are released once, when it closes', async () => {
  await using smtp = await startSmtp({ recipient: () => '250 2.1.5 OK' })
  const counts = { granted: 0, released: 0 }
  const limiter = processLimiter()
  const counting: Limiter = {
    take: (...args) => limiter.take(...args),
    async lease(...args) {
      const lease = await limiter.lease(...args)
      if (!lease.granted) return lease
      counts.granted++
      const release = (): Promise<void> => {
        counts.released++
        return lease.release()
      }
      return { ...lease, release }
    },
  }
  const engine = testEngine(smtp.port, zoneOf({ 'a.test': '127.0.0.1' }), { limiter: counting })
  await ask(engine, ['ada@a.test', 'bob@a.test'])
  await engine[Symbol.asyncDispose]()
  expect(counts).toEqual({ granted: 2, released: 2 })
})
