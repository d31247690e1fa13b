import type { Resolver } from '@plumbline/net/resolver'
import { expect, test } from 'vitest'
import { checkDelegation } from './delegation.ts'

const NEVER = new AbortController().signal

const RECORDS = new Map([
  ['zz NS', 'ns.zz'],
  ['ns.zz A', '192.0.2.1'],
])

/**
 * A resolver that gets no reply about `dead.co.zz`. `co.zz` is no zone: its names are in `zz`, whose
 * server delegates that one.
 */
const RESOLVER: Resolver = {
  async resolve(name, type) {
    if (name === 'dead.co.zz') return { kind: 'failed', reason: 'timeout' }
    if (name === 'co.zz') return { kind: 'nodata', ttlSeconds: 60 }
    const data = RECORDS.get(`${name} ${type}`)
    if (data === undefined) return { kind: 'nxdomain', ttlSeconds: 60 }
    return { kind: 'records', records: [data] as never[], ttlSeconds: 60 }
  },
  async ask(_server, name) {
    const referral = { name, type: 'NS', ttlSeconds: 60, data: 'ns.gone.zz' } as const
    const flags = { code: 0, authoritative: false, truncated: false, recursionAvailable: false }
    return { kind: 'reply', reply: { ...flags, answers: [], authorities: [referral] } }
  },
}

test('a dead delegation below a public suffix that is no zone is found in the zone above', async () => {
  const options = { resolver: RESOLVER, signal: NEVER, port: 53 }
  expect(await checkDelegation('dead.co.zz', options)).toEqual({
    state: 'broken',
    nameServers: ['ns.gone.zz'],
    checks: [{ server: 'ns.gone.zz', verdict: 'no_address' }],
  })
})

test('a name of one label has no zone above it but the root', async () => {
  const failing: Resolver = {
    ...RESOLVER,
    resolve: async () => ({ kind: 'failed', reason: 'timeout' }),
  }
  const options = { resolver: failing, signal: NEVER, port: 53 }
  expect(await checkDelegation('zz', options)).toMatchObject({ state: 'unknown' })
})

test.each([
  // Unbound refuses queries without recursion, and other resolvers answer them from the cache.
  ['recursive', { code: 5, recursionAvailable: true }, 'unknown'],
  ['recursive', { code: 0, recursionAvailable: true }, 'unknown'],
  ['lame', { code: 5, recursionAvailable: false }, 'broken'],
] as const)(
  'a %s reply of the only name server of a zone that resolves, %o: %s',
  async (verdict, flags, state) => {
    const intercepted: Resolver = {
      resolve: async (_name, type) => {
        const data = new Map<string, string>([
          ['NS', 'ns.x.test'],
          ['A', '192.0.2.1'],
        ]).get(type)
        if (data === undefined) return { kind: 'nodata', ttlSeconds: 60 }
        return { kind: 'records', records: [data] as never[], ttlSeconds: 60 }
      },
      ask: async () => {
        const reply = { authoritative: false, truncated: false, answers: [], authorities: [] }
        return { kind: 'reply', reply: { ...reply, ...flags } }
      },
    }
    const options = { resolver: intercepted, signal: NEVER, port: 53 }
    const checks = [{ server: 'ns.x.test', verdict }]
    expect(await checkDelegation('x.test', options)).toMatchObject({ state, checks })
  },
)
