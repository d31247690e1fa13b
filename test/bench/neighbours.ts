import { setTimeout as wait } from 'node:timers/promises'
import { startService, type Account, type TestService } from '@plumbline/testkit/service'
import { spawnSimnet, type SimnetProcess } from '../simnet/child.ts'
import { atMost, bounded, median, quantile, type Figure } from './figure.ts'
import { timePacedCalls } from './paced-calls.ts'
import { moreStores, onBothBackends, type BenchBackend } from './servers.ts'

/**
 * Domains alternate: the mail host of an even one is silent, that of an odd one replies at once.
 */
const DOMAINS = 4_000
const FLOOD_A_SECOND = 50
const CALLS_A_SECOND = 10
const SECONDS = 6
const RUNS = 3

/** Milliseconds until the flooding account has used its share of slow subjects. */
const SWELL_MS = 6_000

/**
 * Single calls of one account to hosts that reply at once, while another account calls silent hosts
 * at its full rate, compared with the same calls alone: real engines, over sockets, with one worker
 * and two.
 */
export async function run(): Promise<readonly Figure[]> {
  await using simnet = await spawnSimnet({
    bulkDomains: { count: DOMAINS, addresses: DOMAINS, kinds: ['silent', 'no-tls'] },
  })
  return await onBothBackends(async (backend) => {
    const figures: Figure[] = []
    for (const workers of [1, 2]) {
      await using service = await openService(simnet, backend, workers)
      figures.push(...(await measure(service, backend.name, workers)))
    }
    return figures
  })
}

async function openService(
  simnet: SimnetProcess,
  backend: BenchBackend,
  workers: number,
): Promise<TestService> {
  return await startService({
    ...(await moreStores(backend, String(workers))),
    engines: 'real',
    workers: Array.from({ length: workers }, () => ['email']),
    env: {
      ...simnet.settings,
      REDIS_PREFIX: `neighbours-${workers}`,
      RATE_LIMIT_PER_SECOND: String(FLOOD_A_SECOND),
      RATE_LIMIT_BURST: String(FLOOD_A_SECOND * 2),
    },
  })
}

async function measure(
  service: TestService,
  backend: string,
  workers: number,
): Promise<readonly Figure[]> {
  const other = await service.account({ credits: 10_000 })
  const flooder = await service.account({ credits: 100_000 })
  const names = namesOf()
  await callsP95(service, other, names.quick)
  const alone: number[] = []
  for (let at = 0; at < RUNS; at += 1) alone.push(await callsP95(service, other, names.quick))
  const flood = startFlood(service, flooder, names.silent)
  await wait(SWELL_MS)
  const beside: number[] = []
  for (let at = 0; at < RUNS; at += 1) beside.push(await callsP95(service, other, names.quick))
  const statuses = await flood.stop()
  const label = `neighbours: ${workers} ${workers === 1 ? 'worker' : 'workers'}`
  const charged = await chargedTo(service, flooder)
  const answered = statuses.filter((status) => status === 200).length
  const strange = statuses.filter((status) => status !== 200 && status !== 429).length
  return [
    atMost({ name: `${label}, median p95`, backend, unit: 'ms' }, median(beside), median(alone), 3),
    bounded({ name: `${label}, highest p95`, backend, unit: 'ms' }, Math.max(...beside), 1_000),
    bounded(
      { name: `${label}, charged for calls without an answer`, backend, unit: 'credits' },
      charged - answered,
      0,
    ),
    bounded(
      { name: `${label}, statuses other than 200 and 429`, backend, unit: 'calls' },
      strange,
      0,
    ),
  ]
}

interface Names {
  quick(): string
  silent(): string
}

/** Addresses that no call has named before. */
function namesOf(): Names {
  let count = 0
  const next = (offset: number): string => {
    count += 1
    return `user${count}@d${((count * 2) % DOMAINS) + offset}.example`
  }
  return { silent: () => next(0), quick: () => next(1) }
}

function startFlood(
  service: TestService,
  account: Account,
  name: () => string,
): { stop(): Promise<readonly number[]> } {
  const calls: Promise<number>[] = []
  const send = async (): Promise<number> => {
    const response = await service.call(account.liveKey, 'POST', '/v1/email', { email: name() })
    await response.text()
    return response.status
  }
  const timer = setInterval(() => calls.push(send()), 1_000 / FLOOD_A_SECOND)
  return {
    stop: () => {
      clearInterval(timer)
      return Promise.all(calls)
    },
  }
}

/** The 95th percentile in milliseconds of calls made at a fixed rate; throws if one is refused. */
async function callsP95(
  service: TestService,
  account: Account,
  name: () => string,
): Promise<number> {
  const pace = { perSecond: CALLS_A_SECOND, seconds: SECONDS }
  return quantile(await timePacedCalls(service, account, pace, name), 0.95)
}

/** What an account was charged after all refunds. */
async function chargedTo({ db }: TestService, { id }: Account): Promise<number> {
  for (let tries = 0; tries < 100; tries += 1) {
    const { rows } = await db.pool.query<{ open: number; charged: number }>(
      `select
        (select count(*)::int from credit_unanswered where account_id = $1) as open,
        (select coalesce(-sum(allowance_delta + packs_delta), 0)::int from credit_entries
          where account_id = $1 and kind in ('debit', 'refund', 'give_back')) as charged`,
      [id],
    )
    if (rows[0]?.open === 0) return rows[0].charged
    await wait(100)
  }
  throw new Error('debits of the flooding account stay open')
}
