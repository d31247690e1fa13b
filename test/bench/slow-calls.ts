import { readFile } from 'node:fs/promises'
import { startService, type TestService } from '@plumbline/testkit/service'
import { spawnSimnet } from '../simnet/child.ts'
import { atLeast, bounded, type Figure } from './figure.ts'
import { openLane } from './http-lane.ts'
import { createDatabase, startServers } from './servers.ts'

/** Provider groups, each with a host of its own that takes some 2.5 s over a dialogue. */
const GROUPS = 400

/** Calls under way for each worker: 160 a second where each takes 2.5 s. */
const CALLERS = 400
const ACCOUNTS = 8
const SECONDS = 20
const WARM_UP_SECONDS = 8

/** What one worker must answer, in calls a second, and what its process may take, in MiB. */
const LEAST_A_SECOND = 150
const MOST_MIB = 512

/**
 * Single calls to honest mail servers that take their time, each group asked with its usual manners: what one
 * worker answers, the memory it takes, and what two answer.
 */
export async function run(): Promise<readonly Figure[]> {
  await using servers = await startServers()
  const figures: Figure[] = []
  for (const backend of ['redis', 'embedded'] as const) {
    const answered: number[] = []
    for (const workers of [1, 2]) {
      await using simnet = await spawnSimnet({
        bulkDomains: { count: GROUPS, addresses: 250, kinds: ['unhurried'] },
      })
      await using service = await startService({
        databaseUrl: await createDatabase(servers.databaseUrl, `${backend}_${workers}`),
        redisUrl: backend === 'redis' ? servers.redisUrl : undefined,
        engines: 'real',
        workers: Array.from({ length: workers }, () => ['email']),
        env: {
          ...simnet.settings,
          REDIS_PREFIX: `slow-${workers}`,
          // All callers are at one address.
          CONNECTIONS_PER_ADDRESS: '10000',
        },
        // What a group is asked for goes by the address that asks: 293 recipients a second of all 400 for each.
        workerEnv: (at) => ({ SMTP_SOURCE_ADDRESSES: `127.0.0.${2 + at}` }),
      })
      const perSecond = await drive(service, workers)
      answered.push(perSecond)
      const head = {
        name: `slow-calls, ${workers} ${workers === 1 ? 'worker' : 'workers'}`,
        backend,
      }
      const [one = 0] = answered
      figures.push(
        workers === 1
          ? atLeast({ ...head, unit: 'calls/s' }, perSecond, LEAST_A_SECOND, 1)
          : atLeast({ ...head, unit: 'calls/s' }, perSecond, one, 1.9),
        bounded({ ...head, unit: 'MiB' }, Math.max(...(await peaksMib(service))), MOST_MIB),
      )
    }
  }
  return figures
}

/** Answers a second, of calls that leave as soon as the one before is answered. */
async function drive(service: TestService, workers: number): Promise<number> {
  const accounts = await Promise.all(
    Array.from({ length: ACCOUNTS }, () => service.account({ credits: 100_000 })),
  )
  const startMs = performance.now()
  const fromMs = startMs + WARM_UP_SECONDS * 1_000
  const endMs = fromMs + SECONDS * 1_000
  let asked = 0
  let answered = 0
  const callers = Array.from({ length: CALLERS * workers }, async (_, at) => {
    const account = accounts[at % ACCOUNTS]
    if (account === undefined) return
    using lane = await openLane(service.url, account.liveKey)
    while (performance.now() < endMs) {
      asked += 1
      const email = `user${asked}@d${asked % GROUPS}.example`
      await lane.post('/v1/email', JSON.stringify({ email }))
      const now = performance.now()
      if (now >= fromMs && now < endMs) answered += 1
    }
  })
  await Promise.all(callers)
  return answered / SECONDS
}

/** The most memory that each worker has had, by the kernel's count (`VmHWM`, proc(5)). */
async function peaksMib({ workers }: TestService): Promise<readonly number[]> {
  const texts = workers.map(({ process }) => readFile(`/proc/${process.pid}/status`, 'utf8'))
  return (await Promise.all(texts)).map((text) => Number(/VmHWM:\s+(\d+)/.exec(text)?.[1]) / 1_024)
}
