import { createWriteStream } from 'node:fs'
import { once } from 'node:events'
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { spawnSimnet, type SimnetProcess } from '../simnet/child.ts'
import type { Registry } from '../simnet/world/registries.ts'
import { startService, type Account, type TestService } from '@plumbline/testkit/service'
import { atMost, bounded, quantile, type Figure } from './figure.ts'
import { onBothBackends } from './servers.ts'
import { uploadBatch, waitForRows } from './upload.ts'

const NAMES = 20_000
const REGISTRIES = 50
/** Rate limit of each registry, and the delay of its replies. */
const PER_SECOND = 5
const DELAY_MS = 80
const IDEAL_SECONDS = NAMES / REGISTRIES / PER_SECOND
const LIVE_EVERY_MS = 1_000
const LIVE_MOST_MS = 2_000

/**
 * A batch over many registries, from upload to finished file, compared with the ideal schedule;
 * each registry enforces its limit, and single calls are made during the batch.
 */
export async function run(): Promise<readonly Figure[]> {
  await using dir = await mkdtempDisposable(join(tmpdir(), 'plumbline-domains-'))
  const list = join(dir.path, 'list.csv')
  await writeNames(list)
  return await onBothBackends(async ({ name, stores }) => {
    await using simnet = await spawnSimnet({ registries: registries() })
    await using service = await startService({
      ...stores,
      workers: [['domain'], ['batch']],
      engines: 'real',
      env: { ...simnet.settings, REGISTRY_QUERIES_PER_SECOND: String(PER_SECOND) },
    })
    return await measure(service, simnet, list, name)
  })
}

async function measure(
  service: TestService,
  simnet: SimnetProcess,
  list: string,
  backend: string,
): Promise<readonly Figure[]> {
  const account = await service.account({ credits: NAMES * 2 })
  const caller = await service.account({ credits: NAMES })
  const stop = new AbortController()
  const live = callEachSecond(service, caller, stop.signal)
  const startMs = performance.now()
  const { id } = await uploadBatch(service, account, list, 'domain')
  await waitForRows(service, account, id, NAMES, 200)
  const seconds = (performance.now() - startMs) / 1_000
  stop.abort()
  const liveMs = await live
  const seen = Object.entries((await simnet.counters()).registries)
    .filter(([host]) => host.startsWith('rdap.bench-'))
    .map(([, counts]) => counts)
  const refused = seen.reduce((sum, counts) => sum + counts.refused, 0)
  const queries = seen.reduce((sum, counts) => sum + counts.queries, 0) - liveMs.length
  const most = Math.max(...seen.map(({ times }) => mostInASecond(times)))
  const name = 'domain: 20,000 names, 50 registries'
  return [
    atMost({ name, backend, unit: 's' }, seconds, IDEAL_SECONDS, 1.2),
    bounded(
      { name: 'domain: queries refused by registries', backend, unit: 'queries' },
      refused,
      0,
    ),
    bounded(
      {
        name: 'domain: queries to one registry within a second, maximum',
        backend,
        unit: 'queries',
      },
      most,
      PER_SECOND,
    ),
    atMost({ name: 'domain: total queries', backend, unit: 'queries' }, queries, NAMES, 1),
    bounded(
      { name: 'domain: single calls during the batch, p99', backend, unit: 'ms' },
      quantile(liveMs, 0.99),
      LIVE_MOST_MS,
    ),
  ]
}

function registries(): readonly Registry[] {
  return Array.from({ length: REGISTRIES }, (_, at) => ({
    name: `bench-${at}`,
    tlds: [`bench${at}`],
    rdap: {
      host: `rdap.bench-${at}.net`,
      path: '/',
      perSecond: PER_SECOND,
      burst: PER_SECOND,
      delayMs: DELAY_MS,
    },
  }))
}

async function writeNames(path: string): Promise<void> {
  const file = createWriteStream(path)
  file.write('company,domain\n')
  for (let at = 0; at < NAMES; at++) file.write(`Company ${at},name${at}.bench${at % REGISTRIES}\n`)
  file.end()
  await once(file, 'close')
}

/** Makes a single call each second; returns their durations. @throws if one is not answered */
async function callEachSecond(
  service: TestService,
  account: Account,
  stop: AbortSignal,
): Promise<number[]> {
  const timesMs: number[] = []
  for (let at = 0; !stop.aborted; at++) {
    const startMs = performance.now()
    const domain = `live${at}.bench${at % REGISTRIES}`
    const response = await service.call(account.liveKey, 'POST', '/v1/domain', {
      domain,
      explain: true,
    })
    const body = await response.text()
    if (!response.ok) throw new Error(`a call answered ${response.status}: ${body}`)
    if (!body.includes('"unregistered"')) throw new Error(`a call found nothing out: ${body}`)
    timesMs.push(performance.now() - startMs)
    await wait(LIVE_EVERY_MS, undefined, { signal: stop }).catch(() => undefined)
  }
  return timesMs
}

function mostInASecond(times: readonly number[]): number {
  let most = 0
  let first = 0
  for (const [last, atMs] of times.entries()) {
    while (atMs - (times[first] ?? atMs) >= 1_000) first++
    most = Math.max(most, last - first + 1)
  }
  return most
}
