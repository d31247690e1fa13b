import { memoryFlags } from '@plumbline/local/children'
import { sendHostile, type HostileUpload, type Outcome } from '@plumbline/testkit/hostile-send'
import { HOSTILE_UPLOADS } from '@plumbline/testkit/hostile-uploads'
import { call, formOf, runBatch, type Caller } from '@plumbline/testkit/batches'
import { peakMebibytes, resetPeak } from '@plumbline/testkit/peak-memory'
import { startService } from '@plumbline/testkit/service'
import { bounded, type Figure } from './figure.ts'
import { measureClients } from './hostile-clients.ts'
import { onBothBackends, type BenchBackend } from './servers.ts'

const MOST_SECONDS = 2
const MOST_MEGABYTES = 64
/** Heap limits as set by `npm start`. */
const HEAP_MEGABYTES = 160

/**
 * Clients that do not read or send no request, and every hostile upload of the tests: the longest
 * time from the last byte of an upload to its result, and the peak memory of the API and the batch
 * worker (resident, by the kernel's high-water mark) above that after ordinary uploads.
 */
export async function run(): Promise<readonly Figure[]> {
  return await onBothBackends(async (backend) => [
    ...(await measureClients(backend)),
    ...(await measureUploads(backend)),
  ])
}

async function measureUploads({ name: backend, stores }: BenchBackend): Promise<readonly Figure[]> {
  await using service = await startService({
    ...stores,
    workers: [['email', 'phone', 'ip', 'domain'], ['batch']],
    execArgv: (program) => memoryFlags(HEAP_MEGABYTES, program),
  })
  const account = await service.account({ credits: 1_000_000 })
  const caller: Caller = { service, account, key: account.liveKey }
  await warmUp(caller)
  const measured = [service.api, ...service.workers.slice(1)]
  const before = await Promise.all(measured.map(resetPeak))
  let slowestMs = 0
  for (const hostile of HOSTILE_UPLOADS) {
    const outcome = await sendHostile(caller, hostile)
    if (!isExpected(outcome, hostile)) {
      throw new Error(`${hostile.name} ended as ${JSON.stringify(outcome.verdict)}`)
    }
    if (outcome.verdict !== 'gone') slowestMs = Math.max(slowestMs, outcome.answeredMs)
  }
  const peaks = await Promise.all(measured.map(peakMebibytes))
  const growths = measured.map(({ name }, at) =>
    bounded(
      { name: `hostile: memory growth of ${name}`, backend, unit: 'MB' },
      (peaks[at] ?? Number.NaN) - (before[at] ?? Number.NaN),
      MOST_MEGABYTES,
    ),
  )
  const head = { name: 'hostile: slowest upload', backend, unit: 's' }
  return [bounded(head, slowestMs / 1000, MOST_SECONDS), ...growths]
}

/** Ordinary uploads, large and small, so that first-use costs are not measured. */
async function warmUp(caller: Caller): Promise<void> {
  const lines = Array.from({ length: 200_000 }, (_, at) => `person${at}@company${at % 999}.example`)
  await runBatch(caller, formOf({ product: 'email' }, `email\n${lines.join('\n')}\n`))
  const records = lines.slice(0, 10_000).map((email) => ({ email }))
  const { id } = await runBatch(caller, { product: 'email', records })
  await (await call(caller, 'GET', `/v1/batches/${id}/results?format=ndjson`)).text()
}

function isExpected({ verdict }: Outcome, { verdict: wanted }: HostileUpload): boolean {
  if (typeof verdict === 'string' || typeof wanted === 'string') return verdict === wanted
  if ('status' in verdict) return 'status' in wanted && verdict.status === wanted.status
  if ('failed' in verdict) return 'failed' in wanted && verdict.failed === wanted.failed
  return 'rows' in wanted && verdict.rows === wanted.rows
}
