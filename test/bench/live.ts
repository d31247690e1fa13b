import { CONTAINER_FLAGS } from '@plumbline/local/children'
import { startService } from '@plumbline/testkit/service'
import { openBareCalls } from './bare-calls.ts'
import { runLoads, type Load } from './run-load.ts'
import { atLeast, atMost, median, type Figure } from './figure.ts'
import { openHttpConnection } from './http-connection.ts'
import { createDatabase, startServers } from './servers.ts'

const CONNECTIONS = 64
const ROUNDS = 5

/**
 * Rounds until V8 has compiled the hot code: before that a call takes half as much processor time
 * again.
 */
const WARM_UPS = 3

/** Load of a contender in a round: a single connection, then all of them. */
const LOADS: readonly Load[] = [
  { calls: 300, atOnce: 1 },
  { calls: 4_000, atOnce: CONNECTIONS },
]

const CREDITS = 100_000

/**
 * Single calls over HTTP, debit included, with engines that answer from memory, on both queue
 * backends, compared with calls by BullMQ alone. All three run alternately, so that other load
 * affects them alike; medians of five rounds after three to warm up.
 */
export async function run(): Promise<readonly Figure[]> {
  await using servers = await startServers()
  await using stack = new AsyncDisposableStack()
  const { call } = stack.use(await openBareCalls(servers.redisUrl))
  const bare = contender(call)
  const onRedis = contender(await openService(stack, servers.databaseUrl, servers.redisUrl))
  const embeddedUrl = await createDatabase(servers.databaseUrl, 'embedded')
  const embedded = contender(await openService(stack, embeddedUrl, undefined))
  for (let round = 0; round < WARM_UPS + ROUNDS; round += 1) {
    for (const each of [bare, onRedis, embedded]) await each.turn(round >= WARM_UPS)
  }
  const many = { name: 'live: 64 concurrent calls', unit: 'calls/s' } as const
  const one = { name: 'live: one call at a time, p50', unit: 'ms' } as const
  return [
    atLeast({ ...many, backend: 'redis' }, onRedis.rate(), bare.rate(), 1.6),
    atLeast({ ...many, backend: 'embedded' }, embedded.rate(), bare.rate(), 1.2),
    atMost({ ...one, backend: 'redis' }, onRedis.p50Ms(), bare.p50Ms(), 3.3),
    atMost({ ...one, backend: 'embedded' }, embedded.p50Ms(), bare.p50Ms(), 5),
  ]
}

type Call = (at: number, connection: number) => Promise<void>

interface Contender {
  turn(counts: boolean): Promise<void>
  rate(): number
  p50Ms(): number
}

function contender(call: Call): Contender {
  const rates: number[] = []
  const p50sMs: number[] = []
  return {
    async turn(counts) {
      const [alone, together] = await runLoads(LOADS, call)
      if (!counts || alone === undefined || together === undefined) return
      p50sMs.push(alone.p50Ms)
      rates.push(together.callsPerSecond)
    },
    rate: () => median(rates),
    p50Ms: () => median(p50sMs),
  }
}

/** Starts a service on a database of its own and opens all connections to it. */
async function openService(
  stack: AsyncDisposableStack,
  databaseUrl: string,
  redisUrl: string | undefined,
): Promise<Call> {
  const service = stack.use(
    await startService({
      databaseUrl,
      redisUrl,
      workers: [['email']],
      // As in docker-compose.yml and the manifests.
      execArgv: () => CONTAINER_FLAGS,
    }),
  )
  const { liveKey } = await service.account({ credits: CREDITS })
  const connections = await Promise.all(
    Array.from({ length: CONNECTIONS }, () => openHttpConnection(service.url, liveKey)),
  )
  stack.defer(() => {
    for (const connection of connections) connection[Symbol.dispose]()
  })
  return async (at, connection) => {
    const email = `person${at}@example.com`
    const body = await connections[connection]?.post('/v1/email', JSON.stringify({ email }))
    if (body?.includes(`"email":"${email}"`) === true) return
    throw new Error(`expected an answer about ${email}, got ${body}`)
  }
}
