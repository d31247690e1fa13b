import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startService } from '@plumbline/testkit/service'
import { bounded, type Figure } from './figure.ts'
import { onBothBackends, type BenchBackend } from './servers.ts'
import { uploadBatch, waitForEnd, writeContacts } from './upload.ts'

/** Accounts that upload long files, files of each, and rows of a file. */
const CROWD = 2
const FILES = 6
const ROWS = 600_000

/** Batches of another account, one after the other, and their rows. */
const BATCHES = 12
const FEW_ROWS = 10

/** Limit of such a batch, from its upload to its result. */
const MOST_MS = 5_000

/** Longest time of ten rows of another account while a worker has long files to read. */
export async function run(): Promise<readonly Figure[]> {
  await using dir = await mkdtempDisposable(join(tmpdir(), 'plumbline-list-'))
  const long = join(dir.path, 'long.csv')
  const few = join(dir.path, 'few.csv')
  await writeContacts(long, ROWS)
  await writeContacts(few, FEW_ROWS)
  return await onBothBackends(async ({ name: backend, stores }) => {
    const longestMs = await measure(stores, { long, few })
    const head = { name: 'long-files: ten rows beside long files, longest', backend, unit: 'ms' }
    return [bounded(head, longestMs, MOST_MS)]
  })
}

async function measure(
  stores: BenchBackend['stores'],
  files: { readonly long: string; readonly few: string },
): Promise<number> {
  await using service = await startService({ ...stores, workers: [['email'], ['batch']] })
  for (let at = 0; at < CROWD; at += 1) {
    const account = await service.account({ credits: FILES * ROWS })
    for (let file = 0; file < FILES; file += 1) {
      await uploadBatch(service, account, files.long, 'email')
    }
  }
  const other = await service.account({ credits: BATCHES * FEW_ROWS })
  let longestMs = 0
  for (let at = 0; at < BATCHES; at += 1) {
    const startedMs = performance.now()
    const { id } = await uploadBatch(service, other, files.few, 'email')
    await waitForEnd(service, other, id)
    longestMs = Math.max(longestMs, performance.now() - startedMs)
  }
  return longestMs
}
