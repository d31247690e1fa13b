import type { Answer } from 'dns-packet'
import { expect, test } from 'vitest'
import { resolveAddresses } from './resolve-addresses.ts'
import { AA, RA, startDns } from './dns-fixture.ts'
import type { DnsFixture, Reply } from './dns-fixture.ts'
import { createEgress } from './egress.ts'
import { createResolver } from './resolver.ts'
import type { Resolver, ResolverOptions } from './resolver.ts'

const egress = createEgress({ allow: [] })
const SOA: Answer = {
  name: 'test',
  type: 'SOA',
  ttl: 60,
  data: { mname: 'ns.test', rname: 'host.test', serial: 1, minimum: 30 },
}

function resolverOver(
  servers: readonly DnsFixture[],
  more: Partial<ResolverOptions> = {},
): Resolver {
  return createResolver({
    servers: servers.map((server) => `127.0.0.1:${server.port}`),
    egress,
    timeoutMs: 600,
    tryMs: 100,
    ...more,
  })
}

test('records of each type are returned in their own shape', async () => {
  const data: Record<string, Answer> = {
    A: { name: 'x.test', type: 'A', ttl: 300, data: '192.0.2.1' },
    AAAA: { name: 'x.test', type: 'AAAA', ttl: 300, data: '2001:db8::1' },
    MX: { name: 'x.test', type: 'MX', ttl: 300, data: { preference: 10, exchange: 'Mail.X.test' } },
    TXT: { name: 'x.test', type: 'TXT', ttl: 300, data: ['v=spf1 ', 'include:é.test -all'] },
    NS: { name: 'x.test', type: 'NS', ttl: 300, data: 'ns.x.test' },
  }
  await using server = await startDns((_name, type) => {
    const answer = data[type]
    return answer === undefined ? null : { answers: [answer] }
  })
  const resolver = resolverOver([server])
  const records = async (type: 'A' | 'AAAA' | 'MX' | 'TXT' | 'NS'): Promise<unknown> =>
    resolver.resolve('X.test.', type)
  const found = (value: unknown): unknown => ({
    kind: 'records',
    records: [value],
    ttlSeconds: 300,
  })
  expect(await records('A')).toEqual(found('192.0.2.1'))
  expect(await records('AAAA')).toEqual(found('2001:db8::1'))
  expect(await records('MX')).toEqual(found({ preference: 10, exchange: 'mail.x.test' }))
  expect(await records('TXT')).toEqual(found('v=spf1 include:é.test -all'))
  expect(await records('NS')).toEqual(found('ns.x.test'))
})

test('a null MX keeps its root exchange', async () => {
  await using server = await startDns(() => ({
    answers: [{ name: 'x.test', type: 'MX', ttl: 60, data: { preference: 0, exchange: '.' } }],
  }))
  const answer = await resolverOver([server]).resolve('x.test', 'MX')
  expect(answer).toMatchObject({ kind: 'records', records: [{ preference: 0, exchange: '.' }] })
})

test('no data, no such name and failure are three different results', async () => {
  await using server = await startDns((name) => {
    if (name === 'empty.test') return { authorities: [SOA] }
    if (name === 'none.test') return { flags: RA | 3, authorities: [SOA] }
    if (name === 'broken.test') return { flags: RA | 2 }
    if (name === 'refused.test') return { flags: RA | 5 }
    if (name === 'garbage.test')
      return {
        raw: (query) =>
          Buffer.concat([query.subarray(0, 2), Buffer.from([0x80]), Buffer.alloc(9, 255)]),
      }
    return null
  })
  const resolver = resolverOver([server])
  const kindOf = async (name: string): Promise<unknown> => resolver.resolve(name, 'A')
  expect(await kindOf('empty.test')).toEqual({ kind: 'nodata', ttlSeconds: 30 })
  expect(await kindOf('none.test')).toEqual({ kind: 'nxdomain', ttlSeconds: 30 })
  expect(await kindOf('broken.test')).toEqual({ kind: 'failed', reason: 'servfail' })
  expect(await kindOf('refused.test')).toEqual({ kind: 'failed', reason: 'refused' })
  expect(await kindOf('garbage.test')).toEqual({ kind: 'failed', reason: 'malformed' })
  expect(await kindOf('silent.test')).toEqual({ kind: 'failed', reason: 'timeout' })
  expect(await kindOf(`${'a'.repeat(64)}.test`)).toEqual({ kind: 'failed', reason: 'malformed' })
})

test('a referral of a server without recursion is not an answer', async () => {
  await using server = await startDns(() => ({
    flags: 0,
    authorities: [{ name: 'test', type: 'NS', ttl: 60, data: 'ns.test' }],
  }))
  expect(await resolverOver([server]).resolve('x.test', 'A')).toEqual({
    kind: 'failed',
    reason: 'refused',
  })
})

test('the second server answers if the first is silent or fails', async () => {
  await using silent = await startDns(() => null)
  await using failing = await startDns(() => ({ flags: RA | 2 }))
  const good = (): Reply => ({
    answers: [{ name: 'x.test', type: 'A', ttl: 60, data: '192.0.2.1' }],
  })
  await using healthy = await startDns(good)
  for (const first of [silent, failing]) {
    const answer = await resolverOver([first, healthy]).resolve('x.test', 'A')
    expect(answer.kind).toBe('records')
  }
})

test('a server that loses three consecutive queries is queried last', async () => {
  await using silent = await startDns(() => null)
  await using healthy = await startDns(() => ({ authorities: [SOA] }))
  const resolver = resolverOver([silent, healthy], { tryMs: 200 })
  for (const name of ['a.test', 'b.test', 'c.test', 'd.test', 'e.test']) {
    expect(await resolver.resolve(name, 'A')).toMatchObject({ kind: 'nodata' })
  }
  expect(silent.asked.length).toBe(3)
})

test('a caller that gives up does not reset the losses of a server', async () => {
  await using silent = await startDns(() => null)
  await using healthy = await startDns((name) => ({
    answers: [{ name, type: 'A', ttl: 60, data: '192.0.2.1' }],
  }))
  const resolver = resolverOver([silent, healthy], { tryMs: 200 })
  for (const name of ['a.test', 'b.test']) await resolver.resolve(name, 'A')
  await resolver.resolve('given-up.test', 'A', { signal: AbortSignal.timeout(10) })
  for (const name of ['c.test', 'd.test']) await resolver.resolve(name, 'A')
  const asked = silent.asked.map(({ name }) => name)
  expect(asked).toEqual(['a.test', 'b.test', 'given-up.test', 'c.test'])
})

/** The reply to a query that a proxy cut within its only record. */
function cutWithinRecord(query: Buffer): Buffer {
  const endOfQuestion = query.indexOf(0, 12) + 5
  const record = Buffer.from([0xc0, 12, 0, 16, 0, 1, 0, 0, 0, 60, 0, 200, 199, 65, 65])
  const message = Buffer.concat([query.subarray(0, endOfQuestion), record])
  message.writeUInt16BE(0x8380, 2)
  message.writeUInt16BE(1, 6)
  message.writeUInt16BE(0, 10)
  return message
}

test('a truncated reply that ends within a record is queried again over TCP, and refused there', async () => {
  await using server = await startDns((name, _type, tcp) => {
    if (!tcp || name === 'cut.test') return { raw: cutWithinRecord }
    return { answers: [{ name, type: 'TXT', ttl: 60, data: 'v=spf1 -all' }] }
  })
  const resolver = resolverOver([server], { timeoutMs: 10_000, tryMs: 5_000 })
  const found = { kind: 'records', records: ['v=spf1 -all'] }
  expect(await resolver.resolve('x.test', 'TXT')).toMatchObject(found)
  expect(await resolver.resolve('cut.test', 'TXT')).toEqual({ kind: 'failed', reason: 'malformed' })
})

test('a chain that its server denies or ends is not queried again at its end', async () => {
  await using server = await startDns((name) => ({
    answers: [{ name, type: 'CNAME', ttl: 60, data: 'end.test' }],
    ...(name === 'denied.test' ? { flags: RA | 3 } : { authorities: [SOA] }),
  }))
  const resolver = resolverOver([server], { timeoutMs: 5_000, tryMs: 5_000 })
  const end = { cname: 'end.test' }
  expect(await resolver.resolve('denied.test', 'A')).toMatchObject({ kind: 'nxdomain', ...end })
  expect(await resolver.resolve('empty.test', 'A')).toMatchObject({ kind: 'nodata', ...end })
  expect(server.asked.map(({ name }) => name)).toEqual(['denied.test', 'empty.test'])
})

test('a truncated reply is queried again over TCP', async () => {
  await using server = await startDns((name) => ({
    truncate: true,
    answers: Array.from({ length: 60 }, (_, i) => ({
      name,
      type: 'A' as const,
      ttl: 60,
      data: `192.0.2.${i}`,
    })),
  }))
  const answer = await resolverOver([server]).resolve('big.test', 'A')
  expect(answer.kind === 'records' && answer.records.length).toBe(60)
  // A busy machine may need a second attempt, which is like the first.
  expect(server.asked.slice(0, 2).map((question) => question.tcp)).toEqual([false, true])
})

test('a CNAME chain is followed over several replies, and a loop or a long one fails', async () => {
  await using server = await startDns((name) => {
    if (name === 'start.test')
      return { answers: [{ name, type: 'CNAME', ttl: 20, data: 'mid.test' }] }
    if (name === 'mid.test') {
      return {
        answers: [
          { name, type: 'CNAME', ttl: 60, data: 'end.test' },
          { name: 'end.test', type: 'A', ttl: 60, data: '192.0.2.9' },
        ],
      }
    }
    if (name === 'loop.test')
      return { answers: [{ name, type: 'CNAME', ttl: 60, data: 'loop.test' }] }
    const link = /^n(\d+)\.test$/.exec(name)
    if (link === null) return null
    return { answers: [{ name, type: 'CNAME', ttl: 60, data: `n${Number(link[1]) + 1}.test` }] }
  })
  const resolver = resolverOver([server], { timeoutMs: 5_000 })
  expect(await resolver.resolve('start.test', 'A')).toEqual({
    kind: 'records',
    records: ['192.0.2.9'],
    ttlSeconds: 20,
    cname: 'end.test',
  })
  expect(await resolver.resolve('loop.test', 'A')).toEqual({ kind: 'failed', reason: 'loop' })
  expect(await resolver.resolve('n1.test', 'A')).toEqual({ kind: 'failed', reason: 'loop' })
  expect(server.asked.filter((q) => q.name.startsWith('n')).length).toBeLessThanOrEqual(12)
})

test('forged datagrams are ignored', async () => {
  await using server = await startDns((name) => ({
    raw: (query) => {
      const forged = Buffer.from(query)
      forged.writeUInt16BE(query.readUInt16BE(0) ^ 1)
      return name === 'forged.test' ? forged : Buffer.concat([forged, Buffer.alloc(9_000)])
    },
  }))
  const answer = await resolverOver([server]).resolve('forged.test', 'A')
  expect(answer).toEqual({ kind: 'failed', reason: 'timeout' })
  const open = resolverOver([server], { egress: createEgress({ allow: ['127.0.0.0/8'] }) })
  const direct = { address: '127.0.0.1', port: server.port }
  for (const name of ['forged.test', 'long.forged.test']) {
    const reply = await open.ask(direct, name, 'SOA', { timeoutMs: 100 })
    expect(reply).toEqual({ kind: 'failed', reason: 'timeout' })
  }
})

test('a query ends at its own time limit, whatever each try may take', async () => {
  await using server = await startDns(() => null)
  const resolver = resolverOver([server], { timeoutMs: 100, tryMs: 600_000 })
  expect(await resolver.resolve('x.test', 'A')).toEqual({ kind: 'failed', reason: 'timeout' })
})

test('a server without EDNS is queried once more in plain DNS', async () => {
  let tries = 0
  await using server = await startDns((name) => {
    tries++
    if (tries === 1) return { flags: RA | 1 }
    return { answers: [{ name, type: 'A', ttl: 60, data: '192.0.2.3' }] }
  })
  expect(await resolverOver([server]).resolve('old.test', 'A')).toMatchObject({ kind: 'records' })
})

test('one query in flight serves all its callers, and the cache later ones', async () => {
  await using server = await startDns((name) => ({
    answers: [{ name, type: 'A', ttl: 60, data: '192.0.2.3' }],
  }))
  let now = 0
  const resolver = resolverOver([server], { now: () => now })
  await Promise.all(Array.from({ length: 50 }, () => resolver.resolve('x.test', 'A')))
  expect(server.asked.length).toBe(1)
  now += 40_000
  expect(await resolver.resolve('X.TEST', 'A')).toMatchObject({ ttlSeconds: 20 })
  now += 21_000
  await resolver.resolve('x.test', 'A')
  expect(server.asked.length).toBe(2)
})

test('an aborted caller is answered at once and the others still get their result', async () => {
  await using server = await startDns((name) => ({
    answers: [{ name, type: 'A', ttl: 60, data: '192.0.2.3' }],
  }))
  const resolver = resolverOver([server])
  const controller = new AbortController()
  const early = resolver.resolve('x.test', 'A', { signal: controller.signal })
  const patient = resolver.resolve('x.test', 'A')
  controller.abort()
  expect(await early).toEqual({ kind: 'failed', reason: 'timeout' })
  expect(await patient).toMatchObject({ kind: 'records' })
})

test('a direct query shows authority and is guarded', async () => {
  await using server = await startDns(() => ({ flags: AA, answers: [SOA] }))
  const guarded = resolverOver([server])
  expect(await guarded.ask({ address: '127.0.0.1', port: server.port }, 'test', 'SOA')).toEqual({
    kind: 'failed',
    reason: 'forbidden',
  })
  const open = resolverOver([server], { egress: createEgress({ allow: ['127.0.0.0/8'] }) })
  const answer = await open.ask({ address: '127.0.0.1', port: server.port }, 'test', 'SOA')
  expect(answer).toMatchObject({ kind: 'reply', reply: { authoritative: true, code: 0 } })
})

test('a direct reply over 8 KiB is malformed, one below it is read', async () => {
  const texts = (count: number): Answer[] =>
    Array.from({ length: count }, () => ({
      name: 'test',
      type: 'TXT',
      ttl: 60,
      data: 'x'.repeat(200),
    }))
  await using server = await startDns((name) => ({
    flags: AA,
    truncate: true,
    answers: [SOA, ...texts(name === 'test' ? 30 : 50)],
  }))
  const resolver = resolverOver([server], { egress: createEgress({ allow: ['127.0.0.0/8'] }) })
  const ask = (name: string): Promise<unknown> =>
    resolver.ask({ address: '127.0.0.1', port: server.port }, name, 'SOA')
  expect(await ask('test')).toMatchObject({ kind: 'reply', reply: { code: 0 } })
  expect(await ask('long.test')).toEqual({ kind: 'failed', reason: 'malformed' })
  expect(server.asked.map(({ tcp }) => tcp)).toEqual([false, true, false, true])
  expect(await resolver.resolve('long.test', 'TXT')).toMatchObject({ kind: 'nodata' })
})

test('the first 64 mail hosts of a name are used, and all of its texts', async () => {
  await using server = await startDns((name, type) => ({
    truncate: true,
    answers: Array.from({ length: 100 }, (_, no): Answer =>
      type === 'MX'
        ? { name, type, ttl: 60, data: { preference: 1, exchange: `m${no}.test` } }
        : { name, type: 'TXT', ttl: 60, data: `text ${no}` },
    ),
  }))
  const resolver = resolverOver([server])
  const countOf = async (type: 'MX' | 'TXT'): Promise<number> => {
    const answer = await resolver.resolve('x.test', type)
    return answer.kind === 'records' ? answer.records.length : 0
  }
  expect(await countOf('MX')).toBe(64)
  expect(await countOf('TXT')).toBe(100)
})

test('one family of addresses is enough, and a failure is not a denial', async () => {
  await using server = await startDns((name, type) => {
    if (name === 'half.test' && type === 'AAAA') return { flags: RA | 2 }
    if (name === 'half.test') return { answers: [{ name, type: 'A', ttl: 60, data: '192.0.2.3' }] }
    if (name === 'gone.test') return { flags: RA | 3, authorities: [SOA] }
    return type === 'A' ? { authorities: [SOA] } : { flags: RA | 2 }
  })
  const resolver = resolverOver([server])
  expect(await resolveAddresses(resolver, 'half.test')).toMatchObject({ addresses: ['192.0.2.3'] })
  expect(await resolveAddresses(resolver, 'gone.test')).toEqual({ kind: 'nxdomain' })
  expect(await resolveAddresses(resolver, 'odd.test')).toEqual({
    kind: 'failed',
    reason: 'servfail',
  })
})

test('settings that name no server are refused', () => {
  expect(() => createResolver({ servers: [], egress })).toThrow(/no DNS server/)
  expect(() => createResolver({ servers: ['dns.test'], egress })).toThrow(/dns\.test is not/)
})
