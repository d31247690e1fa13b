import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { Redis } from 'ioredis'
import { CHECKS } from '@plumbline/contract/products'
import { describe, expect, test, vi } from 'vitest'
import { createCertificate } from '@plumbline/test/simnet/smtp/certificate.ts'
import { openLossyProxy } from '@plumbline/testkit/lossy-proxy'
import { emailOutcome } from '@plumbline/testkit/outcomes'
import { PATIENT, PATIENT_LIMITS } from '@plumbline/testkit/patience'
import { openRedisTestQueue } from '@plumbline/testkit/queue'
import { openRedisServer, type TestRedis } from '@plumbline/testkit/redis'
import { depth, enqueue, recall, work } from './jobs.ts'
import { bulkQueueOf } from './names.ts'
import { serveLive } from './live-server.ts'
import { createLiveCaller } from './live-caller.ts'
import { createRedisMemory } from './redis-memory.ts'
import { openRedisQueues } from './redis-queues.ts'
import { readDurability } from './redis-durability.ts'
import { readUsedShare } from './redis-used-memory.ts'
import { openRedis } from './redis.ts'
import { WITHOUT_REDIS } from '@plumbline/testkit/without-redis'

const fail = (error: unknown): never => {
  throw error
}

describe.skipIf(WITHOUT_REDIS)('a Redis cluster', () => {
  test('carries calls, facts and limits', async () => {
    await using cluster = await startCluster()
    await using queue = await openRedisTestQueue(cluster.url)
    await using caller = await createLiveCaller(queue.backend, { onError: fail })
    await using _ = await serveLive(
      queue.backend,
      'email',
      async ({ subject }) => emailOutcome(subject),
      { onError: fail },
    )
    const question = { subject: 'a@example.com', depth: 'basic', account: 't' } as const
    const outcomes = await Promise.all(
      Array.from({ length: 200 }, () => caller.ask('email', question, PATIENT_LIMITS)),
    )
    expect(outcomes).toHaveLength(200)
    const keys = ['a', 'b', 'c']
    await queue.memory.set(keys.map((key) => ({ key, value: key, ttlMs: 10_000 })))
    expect(await queue.memory.get(keys)).toEqual(keys)
    expect(await queue.limiter.take('a', 1, { perSecond: 1, burst: 1 })).toEqual({
      granted: true,
      remaining: 0,
    })
    const heard = vi.fn<(message: string) => void>()
    await using stack = new AsyncDisposableStack()
    stack.use(await queue.backend.channel.subscribe('news', heard))
    await queue.backend.channel.publish('news', ['one'])
    await vi.waitFor(() => expect(heard).toHaveBeenCalledWith('one'), PATIENT)
    // Each channel is known to its own node, and none to all.
    const channels = await Promise.all(cluster.nodes.map(channelsOf))
    expect(channels.map(({ plain }) => plain)).toEqual([[], [], []])
    expect(channels.flatMap(({ sharded }) => sharded).toSorted()).toEqual([
      expect.stringMatching(/:replies:live:[0-9a-f]+\}$/),
      expect.stringMatching(/:replies:news\}$/),
    ])
    const done = vi.fn<() => Promise<void>>(async () => undefined)
    const names = CHECKS.map(bulkQueueOf)
    for (const name of names) {
      stack.use(await work(queue.backend, name, done, { concurrency: 1, onError: fail }))
      await enqueue(queue.backend, name, [{ id: `job-${name}`, data: {} }])
    }
    await vi.waitFor(() => expect(done).toHaveBeenCalledTimes(names.length), PATIENT)
  })

  test('receives replies again after a node dropped the channel, though its slots look the same', async () => {
    await using cluster = await startCluster()
    await using queue = await openRedisTestQueue(cluster.url)
    await using caller = await createLiveCaller(queue.backend, { onError: fail })
    await using _ = await serveLive(
      queue.backend,
      'email',
      async ({ subject }) => emailOutcome(subject),
      { onError: fail },
    )
    const replyChannels = async (node: TestRedis): Promise<readonly string[]> =>
      (await channelsOf(node)).sharded.filter((name) => name.includes(':replies:live:'))
    const owner = async (): Promise<{ node: TestRedis; channel: string } | undefined> => {
      for (const node of cluster.nodes) {
        const [channel] = await replyChannels(node)
        if (channel !== undefined) return { node, channel }
      }
      return undefined
    }
    const dropped = await owner()
    if (dropped === undefined) throw new Error('no node has the channel of replies')
    await dropSlotFor(dropped.node, dropped.channel)
    expect(await owner()).toBeUndefined()
    const question = { subject: 'a@example.com', depth: 'basic', account: 't' } as const
    await vi.waitFor(async () => {
      await caller.ask('email', question, PATIENT_LIMITS)
      expect(await owner()).toEqual(dropped)
    }, PATIENT)
  })

  test('is reached over TLS by the name in its certificate', async () => {
    const certificate = createCertificate('localhost', Date.now() - 60_000, Date.now() + 3_600_000)
    const trusted = getCACertificates('default')
    setDefaultCACertificates([...trusted, certificate.cert])
    await using node = await openRedisServer({ cluster: true, tls: certificate })
    try {
      await shareSlots([node.url])
      const url = node.url.replace('rediss:', 'rediss-cluster:')
      await using server = openRedis({ url, prefix: 'tls', onError: fail })
      expect(await server.commands.set('key', 'value')).toBe('OK')
    } finally {
      setDefaultCACertificates(trusted)
    }
  })

  test('is refused if the URL is that of a single server', async () => {
    await using node = await startNode()
    const opened = openRedisQueues({ redisUrl: node.url, onError: () => undefined })
    await expect(opened).rejects.toMatchObject({
      cause: new Error(
        'REDIS_URL names one server, which is a node of a Redis Cluster; ' +
          'write redis-cluster:// (rediss-cluster:// with TLS) and name its nodes with commas',
      ),
    })
  })
})

async function channelsOf({ url }: TestRedis): Promise<{ plain: unknown; sharded: string[] }> {
  const redis = new Redis(url)
  try {
    const [plain, sharded] = await Promise.all([
      redis.pubsub('CHANNELS'),
      redis.pubsub('SHARDCHANNELS'),
    ])
    return { plain, sharded: sharded.map(String) }
  } finally {
    redis.disconnect()
  }
}

describe.skipIf(WITHOUT_REDIS)('a Redis server that died', () => {
  test('does not prevent a process from ending', { timeout: 30_000 }, async () => {
    await using server = await openRedisServer()
    const ignore = (): void => undefined
    const backend = await openRedisQueues({ redisUrl: server.url, onError: ignore })
    const caller = await createLiveCaller(backend, { onError: ignore })
    const worker = await work(backend, 'live-email', async () => undefined, {
      concurrency: 1,
      graceMs: 0,
      onError: ignore,
    })
    await server.stop()
    const question = { subject: 'a@example.com', depth: 'basic', account: 't' } as const
    const refused = caller.ask('email', question, PATIENT_LIMITS).catch((error: unknown) => error)
    await worker[Symbol.asyncDispose]()
    await caller[Symbol.asyncDispose]()
    await backend[Symbol.asyncDispose]()
    expect(await refused).toMatchObject({ code: 'unavailable' })
  })
})

describe.skipIf(WITHOUT_REDIS)('a Redis server that is silent', () => {
  test('does not prevent channels from closing', async () => {
    await using server = await openRedisServer()
    const ignore = (): void => undefined
    const backend = await openRedisQueues({ redisUrl: server.url, onError: ignore })
    const caller = await createLiveCaller(backend, { onError: ignore })
    const subscription = await backend.channel.subscribe('news', ignore)
    process.kill(server.pid, 'SIGSTOP')
    await expect(subscription[Symbol.asyncDispose]()).resolves.toBeUndefined()
    await expect(caller[Symbol.asyncDispose]()).resolves.toBeUndefined()
    await expect(backend[Symbol.asyncDispose]()).resolves.toBeUndefined()
  })

  test('adds the job of a call that was refused, which is then removed', async () => {
    await using server = await openRedisServer()
    const ignore = (): void => undefined
    await using backend = await openRedisQueues({ redisUrl: server.url, onError: ignore })
    await using caller = await createLiveCaller(backend, { onError: ignore })
    expect(await depth(backend, 'live-email')).toMatchObject({ waiting: 0 })
    process.kill(server.pid, 'SIGSTOP')
    const question = { subject: 'a@example.com', depth: 'basic', account: 't' } as const
    const asked = caller.ask('email', question, PATIENT_LIMITS)
    await expect(asked).rejects.toMatchObject({ code: 'unavailable' })
    process.kill(server.pid, 'SIGCONT')
    // Sent after the job was, over the same connection.
    await vi.waitFor(async () => {
      expect(await depth(backend, 'live-email')).toMatchObject({ waiting: 0 })
    }, PATIENT)
  })
})

describe.skipIf(WITHOUT_REDIS)('a server that fills up', () => {
  test('takes no more cached facts before it refuses jobs, claims and limits; all else is stored', async () => {
    await using server = await openRedisServer({ maxMemory: '10mb' })
    await using queue = await openRedisTestQueue(server.url)
    const { redis } = queue.backend
    if (redis === null) throw new Error('a queue on Redis has a server')
    const memory = createRedisMemory(redis, 0)
    const ttlMs = 60_000
    const factOf = (no: number, text = 'x'.repeat(1_000)) => ({
      key: `fact ${no}`,
      value: text,
      ttlMs,
      isCached: true,
    })
    // Twice what the server could hold.
    for (let no = 0; no < 20_000; no += 200) {
      await memory.set(Array.from({ length: 200 }, (_, at) => factOf(no + at)))
    }
    const share = (await readUsedShare(redis)) ?? 0
    expect(share).toBeGreaterThan(0.6)
    expect(share).toBeLessThan(0.7)
    await enqueue(queue.backend, 'intake', [{ id: 'job', data: {} }])
    expect(await depth(queue.backend, 'intake')).toMatchObject({ waiting: 1 })
    expect(await memory.claim({ key: 'claim', value: 1, ttlMs })).toBe(true)
    const rate = { perSecond: 1, burst: 1 }
    expect(await queue.limiter.take('a', 1, rate)).toMatchObject({ granted: true })
    await memory.set([{ key: 'pause', value: 1, ttlMs }, factOf(0, 'newer'), factOf(20_000)])
    expect(await memory.get(['pause', 'fact 0', 'fact 19999', 'fact 20000'])).toEqual([
      1,
      'newer',
      undefined,
      undefined,
    ])
    await memory.delete(Array.from({ length: 20_000 }, (_, no) => `fact ${no}`))
    await vi.waitFor(async () => {
      await memory.set([factOf(20_000)])
      expect(await memory.get(['fact 20000'])).toEqual([factOf(20_000).value])
    }, PATIENT)
  })

  test('is as full as its fullest node, if it is a cluster', async () => {
    await using cluster = await startCluster()
    await using server = openRedis({ url: cluster.url, prefix: 'full', onError: fail })
    const shares: (number | null)[] = []
    for (const { url } of cluster.nodes) {
      const node = new Redis(url)
      try {
        await node.config('SET', 'maxmemory', '100mb')
        shares.push(await readUsedShare(server))
        await node.config('SET', 'maxmemory', '1gb')
      } finally {
        node.disconnect()
      }
    }
    for (const share of shares) expect(share).toBeGreaterThan(0.005)
    expect(await readUsedShare(server)).toBeLessThan(0.005)
  })
})

describe.skipIf(WITHOUT_REDIS)('what a server keeps', () => {
  test('is told by one that refuses CONFIG', async () => {
    await using redis = await openRedisServer()
    const admin = new Redis(redis.url)
    await admin.config('SET', 'maxmemory-policy', 'allkeys-lru')
    await admin.call('ACL', 'SETUSER', 'default', '-config')
    await expect(admin.config('GET', 'maxmemory-policy')).rejects.toThrow('NOPERM')
    admin.disconnect()
    await using server = openRedis({ url: redis.url, prefix: 'kept', onError: fail })
    expect(await readDurability(server)).toEqual([
      { evictionPolicy: 'allkeys-lru', isAppendOnly: true },
    ])
  })

  test('is told by each node of a cluster', async () => {
    await using cluster = await startCluster()
    const node = new Redis(cluster.nodes[1]?.url ?? '')
    await node.config('SET', 'appendonly', 'no')
    node.disconnect()
    await using server = openRedis({ url: cluster.url, prefix: 'kept', onError: fail })
    await server.commands.ping()
    const told = await readDurability(server)
    expect(told).toHaveLength(cluster.nodes.length)
    expect(told.filter(({ isAppendOnly }) => isAppendOnly === false)).toHaveLength(1)
    expect(new Set(told.map(({ evictionPolicy }) => evictionPolicy))).toEqual(
      new Set(['noeviction']),
    )
  })
})

describe.skipIf(WITHOUT_REDIS)('a network that drops packets without a reset', () => {
  test('does not delay adding jobs, and is replaced by a working connection', async () => {
    await using server = await openRedisServer()
    await using network = await openNetwork(server.url)
    await using backend = await openRedisQueues({
      redisUrl: network.url,
      commandMs: 500,
      onError: () => undefined,
    })
    await enqueue(backend, 'intake', [{ id: 'before', data: {} }])
    network.lose()
    const lost = enqueue(backend, 'intake', [{ id: 'lost', data: {} }])
    await expect(lost).rejects.toThrow(/time|clos/i)
    network.heal()
    await vi.waitFor(() => enqueue(backend, 'intake', [{ id: 'after', data: {} }]), PATIENT)
    expect(await recall(backend, 'intake', 'after', false)).toBe('waiting')
  })

  test('does not keep a channel from messages, which it receives over another connection', async () => {
    await using server = await openRedisServer()
    await using network = await openLossyProxy(server.url)
    const prefix = 'unheard'
    await using near = await openRedisTestQueue(server.url, prefix)
    await using far = await openRedisQueues({
      redisUrl: network.url,
      prefix,
      commandMs: 500,
      onError: () => undefined,
    })
    const heard = vi.fn<(message: string) => void>()
    await using _ = await far.channel.subscribe('news', heard)
    await near.backend.channel.publish('news', ['before'])
    await vi.waitFor(() => expect(heard).toHaveBeenCalledWith('before'), PATIENT)
    network.loseAll()
    await vi.waitFor(async () => {
      await near.backend.channel.publish('news', ['after'])
      expect(heard).toHaveBeenCalledWith('after')
    }, PATIENT)
  })

  test('does not stop a worker, which ends its job over another connection and takes the next', async () => {
    await using server = await openRedisServer()
    await using network = await openLossyProxy(server.url)
    const onError = (): void => undefined
    const prefix = 'partition'
    await using near = await openRedisTestQueue(server.url, prefix)
    await using far = await openRedisQueues({
      redisUrl: network.url,
      prefix,
      commandMs: 500,
      onError,
    })
    const gate = Promise.withResolvers<void>()
    const taken: string[] = []
    await using _ = await work(
      far,
      'intake',
      async ({ id }) => {
        taken.push(id)
        await gate.promise
      },
      { concurrency: 1, graceMs: 0, onError },
    )
    await enqueue(near.backend, 'intake', [{ id: 'before', data: {} }])
    await vi.waitFor(() => expect(taken).toEqual(['before']), PATIENT)
    network.loseAll()
    gate.resolve()
    await enqueue(near.backend, 'intake', [{ id: 'after', data: {} }])
    await vi.waitFor(() => expect(taken).toEqual(['before', 'after']), PATIENT)
    await vi.waitFor(async () => {
      expect(await depth(near.backend, 'intake')).toEqual({ waiting: 0, active: 0 })
    }, PATIENT)
  })
})

describe.skipIf(WITHOUT_REDIS)('a Redis server that is away when a queue is first used', () => {
  test('refuses a job after the time of a command, and takes it once it is back', async () => {
    await using server = await openRedisServer()
    await using queue = await openRedisQueues({
      redisUrl: server.url,
      commandMs: 500,
      onError: () => undefined,
    })
    await server.stop()
    const add = () => enqueue(queue, 'intake', [{ id: 'job-1', data: {} }])
    await expect(add()).rejects.toThrow('no answer in 500 ms')
    await using _ = await openRedisServer({ port: Number(new URL(server.url).port) })
    await vi.waitFor(add, PATIENT)
    expect(await depth(queue, 'intake')).toEqual({ waiting: 1, active: 0 })
  })
})

describe.skipIf(WITHOUT_REDIS)('a Redis server that is full', () => {
  test('refuses calls until it has memory again', async () => {
    await using server = await openRedisServer()
    const ignore = (): void => undefined
    await using queue = await openRedisTestQueue(server.url)
    await using caller = await createLiveCaller(queue.backend, { onError: ignore })
    await using _ = await serveLive(
      queue.backend,
      'email',
      async ({ subject }) => emailOutcome(subject),
      { onError: ignore },
    )
    const question = { subject: 'a@example.com', depth: 'basic', account: 't' } as const
    const ask = () => caller.ask('email', question, PATIENT_LIMITS)
    await ask()
    await queue.backend.redis?.commands.call('CONFIG', 'SET', 'maxmemory', '1')
    await expect(ask()).rejects.toMatchObject({ code: 'unavailable', limit: 'queue_away' })
    expect(caller.refusal('t', ['email'])).toMatchObject({ limit: 'queue_away' })
    await queue.backend.redis?.commands.call('CONFIG', 'SET', 'maxmemory', '0')
    const outcome = await vi.waitFor(ask, PATIENT)
    expect(outcome.facts.address).toBe('a@example.com')
    expect(caller.refusal('t', ['email'])).toBeNull()
  })
})

describe.skipIf(WITHOUT_REDIS)('a Redis server that becomes a replica', () => {
  test('is left for the new primary, which its address leads to by then, though it closes no connection', async () => {
    await using stack = new AsyncDisposableStack()
    const before = stack.use(await openRedisServer())
    const after = stack.use(await openRedisServer())
    const address = stack.use(await openAddress(before.url))
    const ignore = (): void => undefined
    const queue = stack.use(
      await openRedisQueues({ redisUrl: address.url, prefix: 'moved', onError: ignore }),
    )
    const caller = stack.use(await createLiveCaller(queue, { onError: ignore }))
    const answer = async ({ subject }: { subject: string }) => emailOutcome(subject)
    stack.use(await serveLive(queue, 'email', answer, { onError: ignore }))
    const question = { subject: 'a@example.com', depth: 'basic', account: 't' } as const
    await caller.ask('email', question, PATIENT_LIMITS)
    address.leadTo(after.url)
    await using old = openRedis({ url: before.url, prefix: 'old', onError: ignore })
    const { hostname, port } = new URL(after.url)
    await old.commands.call('REPLICAOF', hostname, port)
    const outcome = await vi.waitFor(() => caller.ask('email', question, PATIENT_LIMITS), PATIENT)
    expect(outcome.facts.address).toBe('a@example.com')
  })
})

/** An address whose new connections lead to another server once it is told to. */
async function openAddress(
  url: string,
): Promise<{ readonly url: string; leadTo(url: string): void } & AsyncDisposable> {
  let target = new URL(url)
  const sockets = new Set<Socket>()
  const proxy = createServer((client) => {
    const server = connect(Number(target.port), target.hostname)
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(from)
      from.on('error', () => undefined)
      from.on('close', () => to.destroy())
      from.pipe(to)
    }
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  const bound = proxy.address()
  return {
    url: `redis://127.0.0.1:${typeof bound === 'object' ? bound?.port : 0}`,
    leadTo: (next) => void (target = new URL(next)),
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy()
      proxy.close()
      await once(proxy, 'close')
    },
  }
}

/** A proxy of a server that can drop all packets of its open connections. */
async function openNetwork(
  target: string,
): Promise<{ url: string; lose(): void; heal(): void } & AsyncDisposable> {
  const upstream = new URL(target)
  const sockets = new Set<Socket>()
  let isLosing = false
  const proxy = createServer((client) => {
    const behind = connect(Number(upstream.port), upstream.hostname)
    let wasLosing = isLosing
    for (const [from, to] of [
      [client, behind],
      [behind, client],
    ] as const) {
      sockets.add(from)
      from.on('error', () => undefined)
      from.on('close', () => to.destroy())
      // After a loss this connection stays broken.
      from.on('data', (piece) => {
        wasLosing ||= isLosing
        if (!wasLosing) to.write(piece)
      })
    }
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  const address = proxy.address()
  const url = new URL(target)
  url.port = String(typeof address === 'object' ? address?.port : 0)
  return {
    url: url.href,
    lose: () => void (isLosing = true),
    heal: () => void (isLosing = false),
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy()
      proxy.close()
      await once(proxy, 'close')
    },
  }
}

test('a URL of another kind is refused without showing its content', () => {
  const open = () => openRedis({ url: 'https://user:secret@host', prefix: 'p', onError: fail })
  expect(open).toThrow('a Redis URL begins with redis:// or redis-cluster://, got "https"')
})

/** Three nodes that share the keys. */
async function startCluster(): Promise<
  AsyncDisposable & { readonly url: string; readonly nodes: readonly TestRedis[] }
> {
  const nodes = await Promise.all([1, 2, 3].map(startNode))
  const stop = async (): Promise<void> => {
    await Promise.all(nodes.map(async (node) => await node.stop()))
  }
  const urls = nodes.map(({ url }) => url)
  try {
    await shareSlots(urls)
  } catch (error) {
    await stop()
    throw error
  }
  const url = (urls[0] ?? '').replace('redis:', 'redis-cluster:')
  return { url, nodes, [Symbol.asyncDispose]: stop }
}

/**
 * Moves the slot of a channel away from its node, which drops the channel, and back before any
 * client can read the slots.
 */
async function dropSlotFor({ url }: TestRedis, channel: string): Promise<void> {
  const redis = new Redis(url)
  try {
    const slot = String(await redis.cluster('KEYSLOT', channel))
    await redis.multi().call('CLUSTER', 'DELSLOTS', slot).call('CLUSTER', 'ADDSLOTS', slot).exec()
  } finally {
    redis.disconnect()
  }
}

async function startNode(): Promise<TestRedis> {
  return await openRedisServer({ cluster: true })
}

/** Makes a cluster of the nodes, each with its share of the keys. */
async function shareSlots(urls: readonly string[]): Promise<void> {
  await using stack = new AsyncDisposableStack()
  const servers = urls.map((url) => stack.use(openRedis({ url, prefix: 'setup', onError: fail })))
  const width = Math.ceil(SLOTS / urls.length)
  for (const [at, { commands }] of servers.entries()) {
    const last = Math.min(SLOTS, (at + 1) * width) - 1
    await commands.call('CLUSTER', 'ADDSLOTSRANGE', `${at * width}`, `${last}`)
    await commands.call('CLUSTER', 'SET-CONFIG-EPOCH', `${at + 1}`)
  }
  for (const url of urls.slice(1)) {
    const { hostname, port } = new URL(url)
    await servers[0]?.commands.call('CLUSTER', 'MEET', hostname, port)
  }
  for (const { commands } of servers) {
    await vi.waitFor(async () => {
      const info = String(await commands.call('CLUSTER', 'INFO'))
      expect(info).toContain('cluster_state:ok')
      expect(info).toContain(`cluster_known_nodes:${urls.length}`)
    }, PATIENT)
  }
}

/** Number of hash slots. Source: Redis Cluster specification, "Key distribution model". */
const SLOTS = 16_384
