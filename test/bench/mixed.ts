import { randomUUID } from 'node:crypto'
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { memoryFlags } from '@plumbline/local/children'
import { startService, type Account, type TestService } from '@plumbline/testkit/service'
import { atMost, bounded, median, quantile, type Figure } from './figure.ts'
import { timePacedCalls } from './paced-calls.ts'
import { onBothBackends } from './servers.ts'
import { uploadBatch, waitForEnd, writeContacts } from './upload.ts'

const RECORDS = 100_000
const CALLS_A_SECOND = 20
const SECONDS = 6
const RUNS = 5
const HEAP_MEGABYTES = 768

/**
 * Single calls at 20 a second during a batch of 100,000, with engines that take 20 ms a subject,
 * compared with the same calls alone; and a batch of ten records of another account meanwhile.
 */
export async function run(): Promise<readonly Figure[]> {
  await using dir = await mkdtempDisposable(join(tmpdir(), 'plumbline-list-'))
  const long = join(dir.path, 'long.csv')
  const short = join(dir.path, 'short.csv')
  await writeContacts(long, RECORDS)
  await writeContacts(short, 10)
  return await onBothBackends(async ({ name, stores }) => {
    await using service = await startService({
      ...stores,
      workers: [['email', '--delay=20', '--width=50'], ['batch']],
      // As `npm start` runs them.
      execArgv: (program) => memoryFlags(HEAP_MEGABYTES, program),
    })
    return await measure(service, name, { long, short })
  })
}

async function measure(
  service: TestService,
  backend: string,
  lists: { long: string; short: string },
): Promise<readonly Figure[]> {
  const busy = await service.account({ credits: RECORDS * 100 })
  const other = await service.account({ credits: 10_000 })
  await callsP99(service, other)
  const idle: number[] = []
  const mixed: number[] = []
  const short: number[] = []
  for (let at = 0; at < RUNS; at++) {
    idle.push(await callsP99(service, other))
    const { id } = await uploadBatch(service, busy, lists.long, 'email')
    await untilRunning(service, busy, id)
    const startMs = performance.now()
    const ten = await uploadBatch(service, other, lists.short, 'email')
    await waitForEnd(service, other, ten.id)
    short.push((performance.now() - startMs) / 1000)
    mixed.push(await callsP99(service, other))
    await service.call(busy.liveKey, 'POST', `/v1/batches/${id}/cancel`)
    await waitForEnd(service, busy, id)
  }
  return [
    atMost(
      { name: 'mixed: single calls during a batch, p99', backend, unit: 'ms' },
      median(mixed),
      median(idle),
      1.5,
    ),
    bounded(
      { name: 'mixed: ten records of another account, longest', backend, unit: 's' },
      Math.max(...short),
      3,
    ),
  ]
}

async function untilRunning(service: TestService, account: Account, id: string): Promise<void> {
  for (;;) {
    const response = await service.call(account.liveKey, 'GET', `/v1/batches/${id}`)
    const { status } = (await response.json()) as { status: string }
    if (status !== 'analyzing') return
    await wait(20)
  }
}

/** The 99th percentile in milliseconds of calls made at a fixed rate. */
async function callsP99(service: TestService, account: Account): Promise<number> {
  const pace = { perSecond: CALLS_A_SECOND, seconds: SECONDS }
  const address = (): string => `caller.${randomUUID()}@example.com`
  return quantile(await timePacedCalls(service, account, pace, address), 0.99)
}
