import { startService } from '../support/service.ts'
import { measureBare } from './zbare.ts'
import { drive, type Drive, type Driven } from './zdrive.ts'
import { atLeast, atMost, type Figure } from './figure.ts'
import { openLane } from './http-lane.ts'
import { startServers } from './servers.ts'

const LANES = 64

/** Warm, then alone, then all lanes. */
const DRIVES: readonly Drive[] = [
  { calls: 4_000, atOnce: LANES },
  { calls: 1_000, atOnce: 1 },
  { calls: 20_000, atOnce: LANES },
]

const CREDITS = 100_000

/**
 * Single calls over HTTP, debit included, with engines that answer from memory, against bare `add` and
 * wait for the event on Redis.
 */
export async function run(): Promise<readonly Figure[]> {
  await using servers = await startServers()
  const bare = lastTwo(await measureBare(servers.redisUrl, DRIVES))
  const onRedis = lastTwo(await measureService(servers.databaseUrl, servers.redisUrl))
  const embedded = lastTwo(await measureService(servers.databaseUrl, undefined))
  const many = { name: 'live at 64', unit: 'calls/s' } as const
  const one = { name: 'live at 1, p50', unit: 'ms' } as const
  const rate = ({ together }: Pair): number => together.callsPerSecond
  const p50 = ({ alone }: Pair): number => alone.p50Ms
  return [
    atLeast({ ...many, backend: 'redis' }, rate(onRedis), rate(bare), 1.2),
    atLeast({ ...many, backend: 'embedded' }, rate(embedded), rate(bare), 0.6),
    atMost({ ...one, backend: 'redis' }, p50(onRedis), p50(bare), 4),
    atMost({ ...one, backend: 'embedded' }, p50(embedded), p50(bare), 10),
  ]
}

interface Pair {
  readonly alone: Driven
  readonly together: Driven
}

function lastTwo(driven: readonly Driven[]): Pair {
  const [, alone, together] = driven
  if (alone === undefined || together === undefined) throw new Error('a drive is missing')
  return { alone, together }
}

async function measureService(
  databaseUrl: string,
  redisUrl: string | undefined,
): Promise<readonly Driven[]> {
  await using service = await startService({ databaseUrl, redisUrl, workers: [['email']] })
  const { liveKey } = await service.account({ credits: CREDITS })
  using stack = new DisposableStack()
  const lanes = await Promise.all(
    Array.from({ length: LANES }, async () => stack.use(await openLane(service.url, liveKey))),
  )
  return await drive(DRIVES, async (at, lane) => { try {
    const email = `person${at}@example.com`
    const body = await lanes[lane]?.post('/v1/email', JSON.stringify({ email }))
    if (body?.includes(`"email":"${email}"`) !== true)
      throw new Error(`an answer of another: ${body}`)} catch(e){console.error('FAILED',performance.now(),at,lane,e);throw e}
  })
}
