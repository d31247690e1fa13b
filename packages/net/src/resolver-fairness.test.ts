import { expect, test } from 'vitest'
import { startDns, type DnsFixture } from './dns-fixture.ts'
import { createEgress } from './egress.ts'
import { createResolver, resolverFor } from './resolver.ts'
import type { DnsCaller, Resolver, ResolverOptions } from './resolver.ts'

const BATCH: DnsCaller = { lane: 'bulk', account: 'one' }
const CALL: DnsCaller = { lane: 'live', account: 'one' }
const OTHER_BATCH: DnsCaller = { lane: 'bulk', account: 'two' }
const OTHER_CALL: DnsCaller = { lane: 'live', account: 'two' }

/** A server that never answers about names that end in `dead.test`, or in `dead`. */
function startHalfDead(): Promise<DnsFixture> {
  return startDns((name) =>
    /dead(?:\.test)?$/.test(name)
      ? null
      : { answers: [{ name, type: 'A', ttl: 60, data: '192.0.2.1' }] },
  )
}

function resolverOver({ port }: DnsFixture, more: Partial<ResolverOptions> = {}): Resolver {
  const egress = createEgress({ allow: ['127.0.0.0/8'] })
  return createResolver({ servers: [`127.0.0.1:${port}`], egress, ...more })
}

/** Different names that a server was asked about. */
function namesAsked({ asked }: DnsFixture): string[] {
  return [...new Set(asked.map(({ name }) => name))]
}

/** Waits until a server was asked about as many different names. */
async function untilAsked(server: DnsFixture, count: number): Promise<void> {
  await expect.poll(() => namesAsked(server).length, { interval: 5, timeout: 10_000 }).toBe(count)
}

test.for([
  { what: 'one domain', lane: 'bulk', nameOf: (no: number) => `d${no}.dead.test` },
  { what: 'one domain', lane: 'live', nameOf: (no: number) => `d${no}.dead.test` },
  { what: 'a domain each', lane: 'bulk', nameOf: (no: number) => `d${no}.dead` },
  { what: 'a domain each', lane: 'live', nameOf: (no: number) => `d${no}.dead` },
] as const)(
  'a thousand names of $what on dead servers ($lane) do not delay those of others',
  async ({ lane, nameOf }) => {
    await using server = await startHalfDead()
    const resolver = resolverOver(server, { tryMs: 3_000, timeoutMs: 60_000 })
    const stop = new AbortController()
    let endedCount = 0
    const hostile = Array.from({ length: 1_000 }, async (_, no) => {
      const options = { signal: stop.signal, caller: { lane, account: 'one' } }
      await resolver.resolve(nameOf(no), 'A', options)
      endedCount++
    })
    const others = [OTHER_BATCH, OTHER_CALL].flatMap((caller) =>
      ['first.test', 'second.test'].map((name) =>
        resolver.resolve(`${caller.lane}.${name}`, 'A', { caller }),
      ),
    )
    for (const answer of await Promise.all(others)) expect(answer.kind).toBe('records')
    expect(endedCount).toBe(0)
    stop.abort()
    await Promise.all(hostile)
  },
)

test('names of one domain on dead servers hold 16 places, and the account has the others', async () => {
  await using server = await startHalfDead()
  const resolver = resolverFor(resolverOver(server, { concurrency: 40 }), BATCH)
  const { signal, abort } = stopper()
  const dead = Array.from({ length: 30 }, (_, no) =>
    resolver.resolve(`d${no}.dead.test`, 'A', { signal }),
  )
  await untilAsked(server, 16)
  const others = Array.from({ length: 20 }, (_, no) => resolver.resolve(`n${no}.test`, 'A'))
  await Promise.all(others)
  expect(namesAsked(server)).toHaveLength(16 + 20)
  abort()
  await Promise.all(dead)
})

test('a direct query counts among those of its zone, and its wait can be aborted', async () => {
  await using server = await startHalfDead()
  const resolver = resolverFor(resolverOver(server), CALL)
  const { signal, abort } = stopper()
  const dead = Array.from({ length: 16 }, (_, no) =>
    resolver.resolve(`d${no}.dead.test`, 'A', { signal }),
  )
  await untilAsked(server, 16)
  const target = { address: '127.0.0.1', port: server.port }
  const ofOther = await resolver.ask(target, 'other.test', 'A')
  expect(ofOther).toMatchObject({ kind: 'reply', reply: { answers: [{ data: '192.0.2.1' }] } })
  const own = stopper()
  const waiting = resolver.ask(target, 'dead.test', 'SOA', { signal: own.signal })
  own.abort()
  expect(await waiting).toEqual({ kind: 'failed', reason: 'timeout' })
  expect(namesAsked(server)).not.toContain('dead.test')
  abort()
  await Promise.all(dead)
})

test('a caller that gives up while it waits is not asked for, and its place goes to the next', async () => {
  await using server = await startHalfDead()
  const resolver = resolverFor(resolverOver(server, { concurrency: 1 }), BATCH)
  const [first, second] = [stopper(), stopper()]
  const held = resolver.resolve('dead.test', 'A', { signal: first.signal })
  const givenUp = resolver.resolve('second.test', 'A', { signal: second.signal })
  const third = resolver.resolve('third.test', 'A')
  await untilAsked(server, 1)
  second.abort()
  expect(await givenUp).toEqual({ kind: 'failed', reason: 'timeout' })
  first.abort()
  expect(await held).toEqual({ kind: 'failed', reason: 'timeout' })
  expect(await third).toMatchObject({ kind: 'records' })
  expect(namesAsked(server)).toEqual(['dead.test', 'third.test'])
})

test('callers of any account share a query in flight, which keeps its place until all have left', async () => {
  await using server = await startHalfDead()
  const resolver = resolverOver(server, { concurrency: 1, tryMs: 60_000, timeoutMs: 60_000 })
  const [first, second] = [stopper(), stopper()]
  const ask = (name: string, caller: DnsCaller, signal?: AbortSignal) =>
    resolver.resolve(name, 'A', signal === undefined ? { caller } : { caller, signal })
  const begun = ask('dead.test', BATCH, first.signal)
  await untilAsked(server, 1)
  const joined = ask('dead.test', OTHER_BATCH, second.signal)
  const next = ask('next.test', BATCH)
  first.abort()
  await begun
  await new Promise(setImmediate)
  expect(await Promise.race([next, Promise.resolve('waits')])).toBe('waits')
  expect(server.asked.map(({ name }) => name)).toEqual(['dead.test'])
  second.abort()
  await joined
  expect(await next).toMatchObject({ kind: 'records' })
})

function stopper(): { readonly signal: AbortSignal; abort(): void } {
  const controller = new AbortController()
  return { signal: controller.signal, abort: () => controller.abort() }
}
