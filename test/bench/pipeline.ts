import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startRedis } from '@plumbline/testkit/redis'
import { startService } from '@plumbline/testkit/service'
import { atLeast, median, type Figure } from './figure.ts'
import { runPlain } from './plain-bullmq.ts'
import { startServers } from './servers.ts'
import { uploadBatch, waitForRows, writeContacts } from './upload.ts'

const RECORDS = 200_000
const RUNS = 5

/** Milliseconds between two polls of the batch; the measured end is the `completed_at` of the batch. */
const POLL_MS = 100

/**
 * Records a second, from upload to finished file, compared with a plain BullMQ program with a job
 * for each record.
 */
export async function run(): Promise<readonly Figure[]> {
  await using servers = await startServers()
  await using dir = await mkdtempDisposable(join(tmpdir(), 'plumbline-list-'))
  const list = join(dir.path, 'list.csv')
  await writeContacts(list, RECORDS)
  const before = await plainSeconds(list, join(dir.path, 'plain.csv'))
  const head = { name: 'pipeline', unit: 'records/s' } as const
  const onRedis = await measure(servers.databaseUrl, servers.redisUrl, list)
  const embedded = await measure(servers.databaseUrl, undefined, list)
  // Before and after: a machine that others share may become faster or slower meanwhile.
  const after = await plainSeconds(list, join(dir.path, 'plain.csv'))
  const plain = (2 * RECORDS) / (before + after)
  return [
    atLeast({ ...head, backend: 'redis' }, onRedis, plain, 11),
    atLeast({ ...head, backend: 'embedded' }, embedded, plain, 9),
  ]
}

/** Runs the plain program on a Redis of its own, since freeing the memory of 200,000 jobs takes a while. */
async function plainSeconds(list: string, results: string): Promise<number> {
  const redis = await startRedis()
  if (redis === null) throw new Error('benchmarks need redis-server (apt install redis-server)')
  try {
    return await runPlain(redis.url, list, results)
  } finally {
    await redis.stop()
  }
}

async function measure(
  databaseUrl: string,
  redisUrl: string | undefined,
  list: string,
): Promise<number> {
  await using service = await startService({
    databaseUrl,
    redisUrl,
    workers: [['email'], ['batch']],
  })
  const account = await service.account({ credits: RECORDS * (RUNS + 1) })
  const rates: number[] = []
  for (let at = 0; at <= RUNS; at++) {
    const startMs = Date.now()
    const { id } = await uploadBatch(service, account, list, 'email')
    const batch = await waitForRows(service, account, id, RECORDS, POLL_MS)
    const seconds = (Date.parse(batch.completed_at ?? '') - startMs) / 1000
    // The first run warms the code up, as the 200,000 jobs of the plain program warm up its own.
    if (at > 0) rates.push(RECORDS / seconds)
  }
  return median(rates)
}
