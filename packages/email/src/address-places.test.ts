import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { createLeaseRenewal } from '@plumbline/concurrency/lease-renewal'
import type { Limiter } from '@plumbline/ports/limiter'
import { createAddressPlaces } from './address-places.ts'
import { ask, outcomeOf, testEngine } from './engine-fixture.ts'
import { DEFAULT_LIMITS } from './limits.ts'
import { createCircuitBreaker } from './circuit-breaker.ts'
import { addConnection, createProviderGroup } from './provider-group.ts'
import type { PooledConnection } from './provider-group.ts'
import { ORDINARY_PROVIDER } from './providers.ts'
import { processLimiter, processMemory, startSmtp } from './smtp-fixture.ts'
import type { SmtpSession } from './smtp-fixture.ts'

/** Domains whose mail hosts have names of a group each, all at one address. */
function aliasesOf(address: string, names: readonly string[]): Record<string, readonly unknown[]> {
  const zone: Record<string, readonly unknown[]> = {}
  for (const name of names) {
    zone[`${name}.test MX`] = [{ preference: 1, exchange: `mx.${name}.test` }]
    zone[`mx.${name}.test A`] = [address]
  }
  return zone
}

/** A limiter that takes as long for a release as the server for noticing that a connection is closed. */
function slowLimiter(): Limiter {
  const limiter = processLimiter()
  return {
    ...limiter,
    async lease(...args) {
      const held = await limiter.lease(...args)
      if (!held.granted) return held
      const release = async (): Promise<void> => {
        for (let n = 0; n < 5; n++) await turn()
        await held.release()
      }
      return { ...held, release }
    },
  }
}

const PATIENT = { connectMs: 20_000, greetingMs: 20_000, commandMs: 20_000, recipientMs: 20_000 }

describe('an address that hosts of many groups have', () => {
  test('gets no more connections of all workers than one host may have, and all are answered in turn', async () => {
    await using server = await startSmtp({}, '127.0.0.2')
    const names = Array.from({ length: 12 }, (_, n) => `alias${n}`)
    const zone = aliasesOf('127.0.0.2', names)
    const options = { limiter: slowLimiter(), limits: { connectionsPerGroup: 3 } }
    await using one = testEngine(server.port, zone, options)
    await using two = testEngine(server.port, zone, options)
    const askUntilKnown = async (engine: typeof one, all: readonly string[]): Promise<void> => {
      for (let left = all; left.length > 0;) {
        const answers = await ask(engine, left, { lane: 'bulk' })
        left = left.filter((_, at) => answers[at]?.kind === 'later')
        // Else the replies of the server would never be read.
        await turn()
      }
    }
    const subjects = names.map((name) => `a@${name}.test`)
    await Promise.all([
      askUntilKnown(one, subjects.slice(0, 6)),
      askUntilKnown(two, subjects.slice(6)),
    ])
    expect(server.lines.filter((line) => line.startsWith('RCPT'))).toHaveLength(12)
    expect(server.sessions.most).toBeLessThanOrEqual(3)
  })

  test('keeps a place for live probes, which bulk probes of other groups do not take', async () => {
    await using server = await startSmtp(
      { recipient: (address) => (address.startsWith('live') ? '250 2.1.5 ok' : null) },
      '127.0.0.2',
    )
    const zone = aliasesOf('127.0.0.2', ['one', 'two', 'three'])
    await using engine = testEngine(server.port, zone, {
      times: PATIENT,
      limits: { connectionsPerGroup: 2 },
    })
    const over = new AbortController()
    const request = { lane: 'bulk', signal: over.signal } as const
    const held = ask(engine, ['a@one.test'], request)
    await expect.poll(() => server.sessions.open).toBe(1)
    expect((await ask(engine, ['a@two.test'], request))[0]).toMatchObject({
      kind: 'later',
      group: 'mx:two.test',
      reason: 'rate_limited',
    })
    expect(outcomeOf((await ask(engine, ['live@three.test']))[0]).status).toBe('deliverable')
    over.abort()
    await held
  })

  test('is waited for, not replaced by a host of less preference', async () => {
    await using first = await startSmtp({ recipient: () => null }, '127.0.0.2')
    await using backup = await startSmtp({}, '127.0.0.3', first.port)
    await using engine = testEngine(
      first.port,
      {
        ...aliasesOf('127.0.0.2', ['one', 'two']),
        'two.test MX': [
          { preference: 1, exchange: 'mx.two.test' },
          { preference: 2, exchange: 'backup.two.test' },
        ],
        'backup.two.test A': ['127.0.0.3'],
      },
      { times: PATIENT, limits: { connectionsPerGroup: 1 } },
    )
    const over = new AbortController()
    const held = ask(engine, ['a@one.test'], { lane: 'bulk', signal: over.signal })
    await expect.poll(() => first.sessions.open).toBe(1)
    const [waits] = await ask(engine, ['a@two.test'], { lane: 'bulk' })
    expect([waits?.kind, backup.sessions.all]).toEqual(['later', 0])
    over.abort()
    await held
  })

  test('takes no tokens of a group that waits for it', async () => {
    await using server = await startSmtp({ recipient: () => null }, '127.0.0.2')
    const limiter = processLimiter()
    let taken = 0
    const counting: Limiter = {
      ...limiter,
      take(key, ...rest) {
        if (key.startsWith('email:recipients:two.test')) taken += 1
        return limiter.take(key, ...rest)
      },
    }
    await using engine = testEngine(server.port, aliasesOf('127.0.0.2', ['one', 'two']), {
      times: PATIENT,
      limiter: counting,
      limits: { connectionsPerGroup: 1 },
    })
    const over = new AbortController()
    const held = ask(engine, ['a@one.test'], { lane: 'bulk', signal: over.signal })
    await expect.poll(() => server.sessions.open).toBe(1)
    for (let n = 0; n < 5; n++) {
      const [waits] = await ask(engine, ['a@two.test'], { lane: 'bulk' })
      expect(waits).toMatchObject({ kind: 'later', reason: 'rate_limited' })
    }
    // The first time nothing is known about its address.
    expect([taken, server.sessions.all]).toEqual([1, 1])
    over.abort()
    await held
  })

  test('is left by an idle connection when another group asks for it, and by one that becomes idle after that', async () => {
    const held: (() => void)[] = []
    await using server = await startSmtp(
      {
        offers: [],
        recipient(address, { socket }) {
          if (!address.startsWith('slow')) return '250 2.1.5 ok'
          held.push(() => socket.write('250 2.1.5 ok\r\n'))
          return null
        },
      },
      '127.0.0.2',
    )
    await using engine = testEngine(server.port, aliasesOf('127.0.0.2', ['one', 'two']), {
      times: PATIENT,
      limits: { connectionsPerGroup: 1, idleMs: 60_000, idleScarceMs: 60_000 },
    })
    await ask(engine, ['a@one.test'], { lane: 'bulk' })
    expect(server.sessions.open).toBe(1)
    expect(outcomeOf((await ask(engine, ['a@two.test']))[0]).status).toBe('deliverable')
    const slow = ask(engine, ['slow@two.test'], { lane: 'bulk' })
    await expect.poll(() => held.length).toBe(1)
    expect((await ask(engine, ['b@one.test'], { lane: 'bulk' }))[0]?.kind).toBe('later')
    expect(server.sessions.open).toBe(1)
    held[0]?.()
    expect(outcomeOf((await slow)[0]).status).toBe('deliverable')
    await expect.poll(() => server.sessions.open).toBe(0)
  })

  test('is left to bulk probes of another group, even by a group with several connections', async () => {
    const recipient = (address: string, { socket }: SmtpSession): string | null => {
      if (address.endsWith('small.test')) return '250 2.1.5 ok'
      setTimeout(() => socket.write('250 2.1.5 ok\r\n'), 30)
      return null
    }
    await using server = await startSmtp({ offers: [], recipient }, '127.0.0.2')
    await using engine = testEngine(server.port, aliasesOf('127.0.0.2', ['big', 'small']), {
      limits: { connectionsPerGroup: 2, recipientsPerMinute: 100_000 },
    })
    const over = new AbortController()
    let left = Array.from({ length: 1_000 }, (_, n) => `u${n}@big.test`)
    const many = (async () => {
      while (left.length > 0 && !over.signal.aborted) {
        const answers = await ask(engine, left, { lane: 'bulk', signal: over.signal })
        left = left.filter((_, at) => answers[at]?.kind === 'later')
        await turn()
      }
    })()
    await expect.poll(() => server.sessions.open).toBe(2)
    const small = async () => (await ask(engine, ['a@small.test'], { lane: 'bulk' }))[0]?.kind
    await expect.poll(small, { interval: 250 }).toBe('outcome')
    expect(left.length).toBeGreaterThan(0)
    over.abort()
    await many
  })

  test('is left to a live probe of another group after the transaction', async () => {
    await using server = await startSmtp({ offers: [] }, '127.0.0.2')
    await using engine = testEngine(server.port, aliasesOf('127.0.0.2', ['big', 'small']), {
      limits: { connectionsPerGroup: 1, recipientsPerMinute: 100_000 },
    })
    const over = new AbortController()
    const names = Array.from({ length: 5_000 }, (_, n) => `u${n}@big.test`)
    const many = ask(engine, names, { lane: 'bulk', signal: over.signal })
    await expect.poll(() => server.sessions.open).toBe(1)
    expect(outcomeOf((await ask(engine, ['a@small.test']))[0]).status).toBe('deliverable')
    expect(server.lines.filter((line) => line.startsWith('RCPT')).length).toBeLessThan(5_000)
    over.abort()
    await many
  })
})

test('hosts with names of a known provider are limited as its group, whatever names of others have their address', async () => {
  await using server = await startSmtp(
    { recipient: (address) => (address.endsWith('alias.test') ? null : '250 2.1.5 ok') },
    '127.0.0.2',
  )
  await using engine = testEngine(
    server.port,
    {
      ...aliasesOf('127.0.0.2', ['alias']),
      'customer.test MX': [{ preference: 1, exchange: 'aspmx.l.google.com' }],
      'aspmx.l.google.com A': ['127.0.0.2'],
    },
    { times: PATIENT, limits: { connectionsPerGroup: 1 } },
  )
  const over = new AbortController()
  const held = ask(engine, ['a@alias.test'], { lane: 'bulk', signal: over.signal })
  await expect.poll(() => server.sessions.open).toBe(1)
  const [answer] = await ask(engine, ['a@customer.test'], { lane: 'bulk' })
  expect(outcomeOf(answer).status).toBe('deliverable')
  over.abort()
  await held
})

describe('places at an address', () => {
  const ADDRESS = '192.0.2.1'

  function placesWith(limiter: Limiter = processLimiter()) {
    const clock = { nowMs: 1_000_000 }
    const now = (): number => clock.nowMs
    const warned: unknown[] = []
    const warn = (error: unknown): void => void warned.push(error)
    const leases = createLeaseRenewal({ leaseMs: 20_000, now, warn })
    const places = createAddressPlaces({ limiter, leases, leaseMs: 20_000, now, warn })
    const connectionOf = (group: string): PooledConnection => {
      const route = { kind: 'hosts', hosts: [], exchanges: [], implicit: false } as const
      const to = { group, provider: ORDINARY_PROVIDER, route, source: undefined }
      const breaker = createCircuitBreaker('email:breaker:test', processMemory(), now, warn)
      return addConnection(createProviderGroup(to, group, DEFAULT_LIMITS, breaker, now))
    }
    return { places, clock, warned, connectionOf }
  }

  test('are all for one group, and one of them is left to live probes if there are several', async () => {
    const { places, connectionOf } = placesWith()
    const alone = connectionOf('one.test')
    const taken = []
    for (let n = 0; n < 4; n++)
      taken.push(await places.take(ADDRESS, addConnection(alone.group), false))
    expect(taken.map((place) => place.granted)).toEqual([true, true, true, true])
    const other = connectionOf('two.test')
    const [first] = taken
    if (first?.granted === true) await first.release()
    expect(await places.take(ADDRESS, other, false)).toMatchObject({ granted: false })
    expect(await places.take(ADDRESS, other, true)).toMatchObject({ granted: true })
  })

  test('are tried for again one group after the other, after a minute at most', async () => {
    const { places, connectionOf } = placesWith()
    const holder = connectionOf('holder.test')
    for (let n = 0; n < 4; n++) await places.take(ADDRESS, holder, false)
    const after: number[] = []
    for (let n = 0; n < 300; n++) {
      const place = await places.take(ADDRESS, connectionOf(`g${n}.test`), false)
      if (!place.granted) after.push(place.afterMs)
    }
    expect(after.slice(0, 4)).toEqual([1_000, 1_250, 1_500, 1_750])
    expect(after.at(-1)).toBe(60_000)
  })

  test('are left at once for a live probe, and for others after a second or when idle', async () => {
    const { places, clock, connectionOf } = placesWith()
    const holder = connectionOf('holder.test')
    const taken = []
    for (let n = 0; n < 4; n++) taken.push(await places.take(ADDRESS, holder, false))
    holder.smtp = { address: ADDRESS } as PooledConnection['smtp']
    const state = (): unknown => [places.leavesFor(holder), places.isWanted(holder)]
    expect(state()).toEqual([null, false])
    await places.take(ADDRESS, connectionOf('bulk.test'), false)
    expect(state()).toEqual([null, true])
    clock.nowMs += 999
    await places.take(ADDRESS, connectionOf('bulk.test'), false)
    expect(state()).toEqual([null, true])
    clock.nowMs += 1
    expect(state()).toEqual([1_249, true])
    clock.nowMs += 60_000
    expect(state()).toEqual([null, false])
    await places.take(ADDRESS, connectionOf('live.test'), true)
    expect(state()).toEqual([1_000, true])
    for (const place of taken) if (place.granted) await place.release()
    const [bulk, live] = [connectionOf('bulk.test'), connectionOf('live.test')]
    expect(await places.take(ADDRESS, bulk, false)).toEqual({ granted: false, afterMs: 1_000 })
    expect(await places.take(ADDRESS, live, true)).toMatchObject({ granted: true })
  })

  test('are not taken again by a group that has others there while another group waits', async () => {
    const { places, clock, connectionOf } = placesWith()
    const big = connectionOf('big.test')
    const taken = []
    for (let n = 0; n < 4; n++)
      taken.push(await places.take(ADDRESS, addConnection(big.group), false))
    const small = connectionOf('small.test')
    expect(await places.take(ADDRESS, small, false)).toMatchObject({ granted: false })
    for (const place of taken.slice(2)) if (place.granted) await place.release()
    expect(await places.take(ADDRESS, big, false)).toMatchObject({ granted: false })
    expect(await places.take(ADDRESS, small, false)).toMatchObject({ granted: true })
    clock.nowMs += 60_000
    expect(await places.take(ADDRESS, big, true)).toMatchObject({ granted: true })
  })

  test('are not granted while the shared store fails', async () => {
    const failing: Limiter = {
      ...processLimiter(),
      lease: () => Promise.reject(new Error('store is gone')),
    }
    const { places, warned, connectionOf } = placesWith(failing)
    const place = await places.take(ADDRESS, connectionOf('one.test'), true)
    expect(place).toEqual({ granted: false, afterMs: 1_000 })
    expect(warned).toHaveLength(1)
  })
})
