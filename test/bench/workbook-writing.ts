import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { memoryFlags } from '@plumbline/local/children'
import { peakMebibytes } from '@plumbline/testkit/peak-memory'
import { startService, type Account, type TestService } from '@plumbline/testkit/service'
import { bounded, type Figure } from './figure.ts'
import { startServers } from './servers.ts'
import { uploadBatch, waitForRows, writeContacts } from './upload.ts'

const RECORDS = 200_000
const MOST_SECONDS = 15
const MOST_MEGABYTES = 256

/** Seconds to write a batch of 200,000 rows as a workbook, and peak memory of the API, which writes it. */
export async function run(): Promise<readonly Figure[]> {
  await using servers = await startServers()
  await using dir = await mkdtempDisposable(join(tmpdir(), 'plumbline-list-'))
  const list = join(dir.path, 'list.csv')
  await writeContacts(list, RECORDS)
  await using service = await startService({
    databaseUrl: servers.databaseUrl,
    redisUrl: servers.redisUrl,
    workers: [['email'], ['batch']],
    execArgv: (program) => memoryFlags(160, program),
  })
  const account = await service.account({ credits: RECORDS })
  const { id } = await uploadBatch(service, account, list, 'email')
  await waitForRows(service, account, id, RECORDS, 250)
  const startMs = performance.now()
  const bytes = await download(service, account, id)
  const seconds = (performance.now() - startMs) / 1000
  const backend = 'redis'
  return [
    bounded({ name: 'workbook: writing', backend, unit: 's' }, seconds, MOST_SECONDS),
    bounded(
      { name: 'workbook: writing, peak memory', backend, unit: 'MB' },
      await peakMebibytes(service.api),
      MOST_MEGABYTES,
    ),
    bounded(
      { name: 'workbook: size of the result', backend, unit: 'MB' },
      bytes / 1_048_576,
      MOST_MEGABYTES,
    ),
  ]
}

async function download(service: TestService, account: Account, id: string): Promise<number> {
  const path = `/v1/batches/${id}/results?format=xlsx`
  const response = await service.call(account.liveKey, 'GET', path)
  if (response.status !== 200 || response.body === null) {
    throw new Error(`the download answered ${response.status}`)
  }
  let bytes = 0
  for await (const piece of response.body) bytes += piece.length
  return bytes
}
