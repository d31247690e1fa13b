import { expect, test } from 'vitest'
import type { Resolver } from '@plumbline/net/resolver'
import { createDelegationCache } from './delegation-cache.ts'

const NEVER = new AbortController().signal
const BATCH = { lane: 'bulk', account: 'one' } as const
const CALL = { lane: 'live', account: 'one' } as const

/** A zone with one name server; `asked` counts the queries to it. */
function fakeZone(isAuthoritative = (): boolean => true): Resolver & { asked: number } {
  return {
    asked: 0,
    async resolve(_name, type) {
      const data = type === 'NS' ? 'ns.x.test' : '192.0.2.1'
      // Safe: the records are those of the type that is asked for.
      return { kind: 'records', records: [data] as never, ttlSeconds: 60 }
    },
    async ask(_server, name) {
      this.asked++
      if (!isAuthoritative()) return { kind: 'failed', reason: 'timeout' }
      const data = { mname: 'ns.x.test', rname: '.', serial: 1, minimum: 1 }
      const answers = [{ name, type: 'SOA', ttlSeconds: 60, data }] as const
      const flags = { authoritative: true, truncated: false, recursionAvailable: false }
      return { kind: 'reply', reply: { code: 0, ...flags, answers, authorities: [] } }
    },
  }
}

test('the servers of a zone are queried once in a minute, however many of its names are checked', async () => {
  let nowMs = 0
  const resolver = fakeZone()
  const delegationOf = createDelegationCache(() => nowMs)
  const check = () => delegationOf('x.test', BATCH, { resolver, signal: NEVER, port: 53 })
  const checks = await Promise.all([check(), check(), check()])
  nowMs = 59_999
  checks.push(await check())
  expect(checks.map(({ state }) => state)).toEqual(['ok', 'ok', 'ok', 'ok'])
  const once = resolver.asked
  expect(once).toBe(1)
  nowMs = 60_001
  await check()
  expect(resolver.asked).toBe(once * 2)
})

test('what could not be found out is checked again', async () => {
  let isUp = false
  const resolver = fakeZone(() => isUp)
  const delegationOf = createDelegationCache(() => 0)
  const check = () => delegationOf('x.test', CALL, { resolver, signal: NEVER, port: 53 })
  expect((await check()).state).toBe('unknown')
  isUp = true
  expect((await check()).state).toBe('ok')
})

test('a lookup does not wait for that of another account or lane', async () => {
  const delegationOf = createDelegationCache(() => 0)
  const waits: Resolver = { ...fakeZone(), resolve: () => new Promise(() => undefined) }
  void delegationOf('x.test', BATCH, { resolver: waits, signal: NEVER, port: 53 })
  const others = [CALL, { ...BATCH, account: 'two' }].map((caller) =>
    delegationOf('x.test', caller, { resolver: fakeZone(), signal: NEVER, port: 53 }),
  )
  expect((await Promise.all(others)).map(({ state }) => state)).toEqual(['ok', 'ok'])
})
