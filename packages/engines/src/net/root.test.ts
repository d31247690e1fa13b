import { expect, test } from 'vitest'
import { RA, startDns, type Reply } from './dns-fixture.ts'
import { createEgress } from './egress.ts'
import { createResolver } from './resolver.ts'
import { rootFault } from './root.ts'

const NXDOMAIN = 3

async function faultWith(reply: Reply): Promise<string | null> {
  await using server = await startDns((name) => (name === '.' ? reply : null))
  const servers = [`127.0.0.1:${server.port}`]
  const resolver = createResolver({
    servers,
    egress: createEgress({ allow: [] }),
    timeoutMs: 300,
    tryMs: 100,
  })
  return await rootFault(resolver, AbortSignal.timeout(2_000))
}

test('a resolver of the public DNS knows the root', async () => {
  const data = 'a.root-servers.net'
  expect(await faultWith({ answers: [{ name: '.', type: 'NS', ttl: 60, data }] })).toBeNull()
})

test('one of a closed network denies it', async () => {
  expect(await faultWith({ flags: RA | NXDOMAIN })).toMatch(/^denies the root/)
})

test('silence is told apart from a denial', async () => {
  expect(await faultWith(null)).toMatch(/^says nothing .*\(timeout\)$/)
})
