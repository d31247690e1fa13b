import { setTimeout as wait } from 'node:timers/promises'
import { peakMebibytes } from '@plumbline/testkit/peak-memory'
import { CONTAINER_FLAGS } from '@plumbline/local/children'
import { startService, type TestService } from '@plumbline/testkit/service'
import { spawnSimnet } from '../simnet/child.ts'
import { atLeast, bounded, type Figure } from './figure.ts'
import { openHttpConnection, Refused } from './http-connection.ts'
import { moreStores, onBothBackends, type BenchBackend } from './servers.ts'

/** Provider groups, each with a host of its own. */
const GROUPS = 400

const ACCOUNTS = 8
const SECONDS = 20

/** More than a session with the slower hosts takes. */
const WARM_UP_SECONDS = 8

/** Milliseconds after which a refused call is repeated. */
const AGAIN_MS = 500

/** Minimum calls a second of one worker, and the memory limit of its process in MiB. */
const LEAST_A_SECOND = 150
const MOST_MIB = 512

/** Minimum ratio of the rate of two workers to that of one. */
const LEAST_TIMES = 1.9

interface Scene {
  readonly workers: number
  readonly hosts: 'unhurried' | 'leisurely'
  /** Concurrent calls per worker. */
  readonly callers: number
  /** Concurrent subjects of a worker. */
  readonly subjects: number
}

/**
 * One worker with hosts that take some 2.5 s for a session: 160 calls a second if the worker adds no
 * delay.
 */
const ONE = { hosts: 'unhurried', callers: 400, subjects: 1_000 } as const

/**
 * Two workers compared with one. Clients, API, hosts and workers share the cores of one machine, and
 * at the rate of `ONE` two cores are saturated: so hosts are slower here, and each worker is limited
 * to 200 concurrent subjects, with 240 clients.
 */
const SCALING = { hosts: 'leisurely', callers: 240, subjects: 200 } as const

/**
 * Single calls to well-behaved but slow mail servers, within the usual limits of each group: calls
 * a second and memory of one worker, and of two with an address each.
 */
export async function run(): Promise<readonly Figure[]> {
  return await onBothBackends(async (on) => {
    const { name: backend } = on
    const alone = await measure(on, { ...ONE, workers: 1 })
    const one = await measure(on, { ...SCALING, workers: 1 })
    const two = await measure(on, { ...SCALING, workers: 2 })
    const name = 'slow-calls: 1 worker'
    return [
      atLeast({ name, backend, unit: 'calls/s' }, alone.perSecond, LEAST_A_SECOND, 1),
      bounded({ name, backend, unit: 'MiB' }, alone.peakMib, MOST_MIB),
      atLeast(
        { name: 'slow-calls: 2 workers compared with 1', backend, unit: 'calls/s' },
        two.perSecond,
        one.perSecond,
        LEAST_TIMES,
      ),
      bounded({ name: 'slow-calls: 2 workers', backend, unit: 'MiB' }, two.peakMib, MOST_MIB),
    ]
  })
}

async function measure(
  backend: BenchBackend,
  { workers, hosts, callers, subjects }: Scene,
): Promise<{ readonly perSecond: number; readonly peakMib: number }> {
  const name = `${hosts}_${workers}`
  await using simnet = await spawnSimnet({
    bulkDomains: { count: GROUPS, addresses: GROUPS, kinds: [hosts] },
  })
  await using service = await startService({
    ...(await moreStores(backend, name)),
    engines: 'real',
    workers: Array.from({ length: workers }, () => ['email']),
    // As in docker-compose.yml and the manifests.
    execArgv: () => CONTAINER_FLAGS,
    env: {
      ...simnet.settings,
      REDIS_PREFIX: name,
      // All callers are at one address.
      CONNECTIONS_PER_ADDRESS: '10000',
    },
    workerEnv: (at) => ({
      LIVE_SUBJECTS: String(subjects),
      // A group's limit applies to each outgoing address: all 400 together allow each address 293
      // recipients a second.
      SMTP_SOURCE_ADDRESSES: `127.0.0.${2 + at}`,
    }),
  })
  const perSecond = await measureRate(service, callers * workers)
  return {
    perSecond,
    peakMib: Math.max(...(await Promise.all(service.workers.map(peakMebibytes)))),
  }
}

/**
 * Responses a second of callers, each of which makes one call after another. They start evenly over
 * the warm-up: calls that all start and end at the same moments would be counted one wave more or less.
 */
async function measureRate(service: TestService, callers: number): Promise<number> {
  const accounts = await Promise.all(
    Array.from({ length: ACCOUNTS }, () => service.account({ credits: 100_000 })),
  )
  const startMs = performance.now()
  const fromMs = startMs + WARM_UP_SECONDS * 1_000
  const endMs = fromMs + SECONDS * 1_000
  let asked = 0
  let answered = 0
  const call = async (_: unknown, at: number): Promise<void> => {
    const account = accounts[at % ACCOUNTS]
    if (account === undefined) return
    await wait((at / callers) * WARM_UP_SECONDS * 1_000)
    using connection = await openHttpConnection(service.url, account.liveKey)
    while (performance.now() < endMs) {
      asked += 1
      const email = `user${asked}@d${asked % GROUPS}.example`
      try {
        await connection.post('/v1/email', JSON.stringify({ email }))
      } catch (error) {
        if (!(error instanceof Refused)) throw error
        await wait(AGAIN_MS)
        continue
      }
      const now = performance.now()
      if (now >= fromMs && now < endMs) answered += 1
    }
  }
  await Promise.all(Array.from({ length: callers }, call))
  return answered / SECONDS
}
