import { createEgress } from '@plumbline/net/egress'
import { startDns } from '@plumbline/net/dns-fixture'
import { createResolver, type Resolver } from '@plumbline/net/resolver'
import { expect, test } from 'vitest'
import { ask, brief, testEngine } from './engine-fixture.ts'
import { startSmtp } from './smtp-fixture.ts'

test.for(['bulk', 'live'] as const)(
  'addresses of one account at dead name servers (%s) do not delay those of another',
  async (lane) => {
    await using smtp = await startSmtp({})
    await using dns = await startDns((name, type) => {
      if (name.endsWith('dead.test') || name.endsWith('.dead')) return null
      return type === 'MX'
        ? { answers: [{ name, type, ttl: 60, data: { preference: 1, exchange: 'mx.good.test' } }] }
        : { answers: [{ name, type: 'A', ttl: 60, data: '127.0.0.1' }] }
    })
    const egress = createEgress({ allow: ['127.0.0.0/8'] })
    const resolver = createResolver({
      servers: [`127.0.0.1:${dns.port}`],
      egress,
      tryMs: 3_000,
      timeoutMs: 60_000,
    })
    await using engine = testEngine(smtp.port, {}, { resolver })
    const stop = new AbortController()
    const answered: number[] = []
    const hostile = ask(
      engine,
      Array.from({ length: 1_000 }, (_, no) => `u@d${no}.${no % 2 === 0 ? 'dead' : 'dead.test'}`),
      {
        lane,
        account: 'one',
        signal: stop.signal,
        answered: (index) => answered.push(index),
      },
    )
    await expect.poll(() => dns.asked.length, { timeout: 10_000 }).toBeGreaterThan(20)
    const others = await Promise.all([
      ask(engine, ['x@batch.test'], { lane: 'bulk', account: 'two' }),
      ask(engine, ['x@call.test'], { lane: 'live', account: 'two' }),
    ])
    expect(others.flat().map(brief)).toEqual(['deliverable accepted', 'deliverable accepted'])
    expect(answered).toEqual([])
    stop.abort()
    expect((await hostile).map(brief)).toContain('unknown timeout')
  },
)

test('a domain that an account waits for is looked up for another in its own turn', async () => {
  await using smtp = await startSmtp({})
  const asked: string[] = []
  const resolver: Resolver = {
    resolve(name, type, { caller, signal } = {}) {
      asked.push(`${name} ${type} ${caller?.lane} ${caller?.account}`)
      const failed = { kind: 'failed', reason: 'timeout' } as const
      if (caller?.account === 'one') {
        return new Promise((resolve) => {
          signal?.addEventListener('abort', () => resolve(failed))
        })
      }
      const record = type === 'MX' ? { preference: 1, exchange: 'mx.good.test' } : '127.0.0.1'
      // Safe: the record is of the type that is asked for.
      return Promise.resolve({ kind: 'records', records: [record] as never, ttlSeconds: 60 })
    },
    ask: () => Promise.resolve({ kind: 'failed', reason: 'refused' }),
  }
  await using engine = testEngine(smtp.port, {}, { resolver })
  const stop = new AbortController()
  const first = ask(engine, ['x@good.test'], { account: 'one', signal: stop.signal })
  const second = await ask(engine, ['y@good.test'], { account: 'two', lane: 'bulk' })
  expect(second.map(brief)).toEqual(['deliverable accepted'])
  expect(asked.slice(0, 2)).toEqual(['good.test MX live one', 'good.test MX bulk two'])
  // Hosts are looked up for the caller too.
  expect(asked).toContain('mx.good.test A bulk two')
  stop.abort()
  expect((await first).map(brief)).toEqual(['unknown timeout'])
})
