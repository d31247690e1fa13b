import { createEgress } from '@plumbline/net/egress'
import { createResolver } from '@plumbline/net/resolver'
import { expect, test } from 'vitest'
import { ask, healthyZone, rdapBody, sendJson, startFixtureServers } from './engine-fixture.ts'

const isDead = (name: string): boolean => /dead\d+\.com$/.test(name)

test('names of one account on dead name servers do not delay those of another', async () => {
  await using servers = await startFixtureServers({
    zone: { ...healthyZone('good.com'), ...healthyZone('other.com') },
    dns: (name) => (isDead(name) ? null : undefined),
    rdap: (_req, res) => sendJson(res, 200, rdapBody('good.com')),
  })
  const egress = createEgress({ allow: ['127.0.0.0/8'] })
  await using fixture = await startFixtureServers({
    options: {
      egress,
      resolver: createResolver({
        servers: [`127.0.0.1:${servers.dns.port}`],
        egress,
        tryMs: 3_000,
        timeoutMs: 60_000,
      }),
      nameServerPort: servers.dns.port,
      rdapBootstrapUrl: `http://list.test:${servers.rdapPort}/dns.json`,
    },
  })
  const stop = new AbortController()
  const names = Array.from({ length: 200 }, (_, no) => `dead${no}.com`)
  const answered: number[] = []
  const hostile = ask(fixture, names, {
    lane: 'bulk',
    account: 'one',
    signal: stop.signal,
    answered: (index) => answered.push(index),
  })
  const askedDead = (): number => servers.dns.asked.filter(({ name }) => isDead(name)).length
  // As many queries as one account may have in flight.
  await expect.poll(askedDead, { timeout: 10_000 }).toBeGreaterThanOrEqual(224)
  const others = await Promise.all([
    ask(fixture, ['good.com'], { lane: 'bulk', account: 'two' }),
    ask(fixture, ['other.com'], { lane: 'live', account: 'two' }),
  ])
  expect(others.flat()).toMatchObject([
    { kind: 'outcome', facts: { dnsHealthy: true } },
    { kind: 'outcome', facts: { dnsHealthy: true } },
  ])
  expect(answered).toEqual([])
  stop.abort()
  await hostile
})
