import type { Answer } from 'dns-packet'
import { describe, expect, test } from 'vitest'
import { RA, startDns, type DnsFixture, type Reply } from './dns-fixture.ts'
import { createEgress } from './egress.ts'
import { createResolver, type Resolver } from './resolver.ts'
import { rootFault } from './root-fault.ts'
import { createRootWatch, type RootReply } from './root-watch.ts'

const NXDOMAIN = 3
const SERVFAIL = 2
const DENIED: Reply = { flags: RA | NXDOMAIN }
const MINUTE_MS = 60_000

async function faultWith(reply: Reply): Promise<string | null> {
  await using server = await startDns(() => null, { root: () => reply })
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
  expect(await faultWith(DENIED)).toMatch(/^denies the root/)
})

test('silence is distinguished from a denial', async () => {
  expect(await faultWith(null)).toMatch(/^gives no usable reply .*\(timeout\)$/)
})

describe('a watch over the root', () => {
  test('queries once a minute, and once for all concurrent callers', async () => {
    let nowMs = 0
    let asked = 0
    const watch = createRootWatch({
      now: () => nowMs,
      async ask() {
        asked++
        return 'knows'
      },
    })
    expect(await Promise.all([watch.knowsRoot(), watch.knowsRoot()])).toEqual([true, true])
    nowMs = MINUTE_MS - 1
    await watch.knowsRoot()
    expect(asked).toBe(1)
    nowMs = MINUTE_MS
    await watch.knowsRoot()
    expect(asked).toBe(2)
  })

  test('reports each change, and counts silence as none', async () => {
    const words: RootReply[] = ['silent', 'knows', 'silent', 'denies', 'silent', 'knows']
    const changes: boolean[] = []
    let nowMs = 0
    const watch = createRootWatch({
      now: () => nowMs,
      ask: async () => words.shift() ?? 'silent',
      changed: (knowsRoot) => changes.push(knowsRoot),
    })
    const known: boolean[] = []
    while (words.length > 0) {
      known.push(await watch.knowsRoot())
      nowMs += MINUTE_MS
    }
    expect(known).toEqual([false, true, true, false, false, true])
    expect(changes).toEqual([false, true])
  })

  test('queries a silent server again after seconds', async () => {
    let nowMs = 0
    const words: RootReply[] = ['silent', 'knows']
    const watch = createRootWatch({ now: () => nowMs, ask: async () => words.shift() ?? 'silent' })
    expect(await watch.knowsRoot()).toBe(false)
    nowMs = 5_000
    expect(await watch.knowsRoot()).toBe(true)
  })
})

/** A server whose reply for the root changes, and a resolver over it with a manual clock. */
interface Closable extends AsyncDisposable {
  readonly dns: DnsFixture
  readonly resolver: Resolver
  readonly changes: boolean[]
  root: Reply
  nowMs: number
}

async function startClosable(root: Reply, others: readonly DnsFixture[] = []): Promise<Closable> {
  const changes: boolean[] = []
  const dns = await startDns(replyTo, { root: () => closable.root })
  const closable: Closable = {
    dns,
    changes,
    root,
    nowMs: 0,
    resolver: createResolver({
      servers: [dns, ...others].map(({ port }) => `127.0.0.1:${port}`),
      egress: createEgress({ allow: [] }),
      timeoutMs: 600,
      tryMs: 100,
      now: () => closable.nowMs,
      onRootChange: (_, knowsRoot) => changes.push(knowsRoot),
    }),
    [Symbol.asyncDispose]: () => dns[Symbol.asyncDispose](),
  }
  return closable
}

/**
 * `there.test` has an address, `alias.test` points to no address, `sick.test` fails; other names do
 * not exist.
 */
function replyTo(name: string, type: string): Reply {
  if (name === 'there.test') {
    return { answers: type === 'A' ? [{ name, type, ttl: 900, data: '192.0.2.1' }] : [] }
  }
  if (name === 'alias.test') {
    return { flags: RA | NXDOMAIN, answers: [{ name, type: 'CNAME', ttl: 60, data: 'gone.test' }] }
  }
  return { flags: RA | (name === 'sick.test' ? SERVFAIL : NXDOMAIN), authorities: [SOA] }
}

/** Lets denials be cached for longer than a reply for the root is valid. */
const SOA: Answer = {
  name: 'test',
  type: 'SOA',
  ttl: 900,
  data: { mname: 'ns.test', rname: 'host.test', serial: 1, minimum: 900 },
}

const KNOWN: Reply = { answers: [{ name: '.', type: 'NS', ttl: 60, data: 'a.root-servers.net' }] }
const NO_ROOT = { kind: 'failed', reason: 'no_root' }

describe('a server that does not know the root', () => {
  test.each([
    ['denies it', DENIED],
    ['does not reply about it', null],
    ['refuses it', { flags: RA | 5 }],
  ])('that %s is not believed when it denies a name or fails', async (_, root) => {
    await using closed = await startClosable(root)
    const { resolver } = closed
    expect(await resolver.resolve('gmail.test', 'MX')).toEqual(NO_ROOT)
    expect(await resolver.resolve('there.test', 'MX')).toEqual(NO_ROOT)
    expect(await resolver.resolve('alias.test', 'A')).toEqual(NO_ROOT)
    expect(await resolver.resolve('sick.test', 'A')).toEqual(NO_ROOT)
    expect(await resolver.resolve('there.test', 'A')).toMatchObject({ kind: 'records' })
  })

  test('is believed once it knows the root, and nothing that it denied before stays cached', async () => {
    await using closed = await startClosable(DENIED)
    const { resolver } = closed
    expect(await resolver.resolve('gmail.test', 'MX')).toEqual(NO_ROOT)
    closed.root = KNOWN
    closed.nowMs = MINUTE_MS
    expect(await resolver.resolve('gmail.test', 'MX')).toMatchObject({ kind: 'nxdomain' })
    expect(closed.changes).toEqual([true])
  })

  test('is detected within a minute, and its recent denials are dropped from the cache', async () => {
    await using closed = await startClosable(KNOWN)
    const { resolver } = closed
    expect(await resolver.resolve('there.test', 'A')).toMatchObject({ kind: 'records' })
    expect(await resolver.resolve('gmail.test', 'MX')).toMatchObject({ kind: 'nxdomain' })
    closed.root = DENIED
    closed.nowMs = MINUTE_MS
    expect(await resolver.resolve('other.test', 'A')).toEqual(NO_ROOT)
    expect(await resolver.resolve('gmail.test', 'MX')).toEqual(NO_ROOT)
    expect(closed.changes).toEqual([false])
    const before = closed.dns.asked.length
    expect(await resolver.resolve('there.test', 'A')).toMatchObject({ kind: 'records' })
    expect(closed.dns.asked.length).toBe(before)
  })

  test('is replaced by the next server, which knows the root', async () => {
    await using open = await startDns(replyTo)
    await using closed = await startClosable(DENIED, [open])
    expect(await closed.resolver.resolve('gmail.test', 'MX')).toMatchObject({ kind: 'nxdomain' })
    expect(await closed.resolver.resolve('sick.test', 'A')).toMatchObject({ reason: 'servfail' })
  })
})
