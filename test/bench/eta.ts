import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { BatchView } from '@plumbline/contract/batch-view'
import { startService, type Account, type TestService } from '@plumbline/testkit/service'
import { bounded, type Figure } from './figure.ts'
import { onBothBackends } from './servers.ts'
import { uploadBatch, writeContacts } from './upload.ts'

/**
 * Batches of one to two minutes, many times the interval of saves, for a worker that answers 50
 * records of each task in a second: without limits of providers, and with a provider of a fifth of
 * the addresses that accepts 50 a second.
 */
const BATCHES = [
  { name: 'eta: at half of the batch', records: 60_000, words: [] },
  {
    name: 'eta: at half of the batch, with a slow provider',
    records: 30_000,
    words: ['--slow=50'],
  },
] as const
const POLL_MS = 250
const MOST_TIMES = 2

/** The ratio of `eta_seconds` to the actual remaining time, or its inverse, at half of a batch. */
export async function run(): Promise<readonly Figure[]> {
  await using dir = await mkdtempDisposable(join(tmpdir(), 'plumbline-list-'))
  const list = join(dir.path, 'list.csv')
  return await onBothBackends(async ({ name: backend, stores }) => {
    const figures: Figure[] = []
    for (const { name, records, words } of BATCHES) {
      await writeContacts(list, records)
      await using service = await startService({
        ...stores,
        workers: [['email', '--delay=1000', '--width=50', ...words], ['batch']],
      })
      const account = await service.account({ credits: records })
      const { id } = await uploadBatch(service, account, list, 'email')
      const times = await timesOff(service, account, id)
      figures.push(bounded({ name, backend, unit: 'x' }, times, MOST_TIMES))
    }
    return figures
  })
}

async function timesOff(service: TestService, account: Account, id: string): Promise<number> {
  let told: { readonly atMs: number; readonly seconds: number } | undefined
  for (;;) {
    const response = await service.call(account.liveKey, 'GET', `/v1/batches/${id}`)
    // Safe because the service answers batches in the shape of its contract.
    const view = (await response.json()) as BatchView
    if (view.progress >= 0.5 && view.eta_seconds !== null) {
      told ??= { atMs: performance.now(), seconds: view.eta_seconds }
    }
    if (view.status === 'completed') {
      if (told === undefined) throw new Error('the batch ended before half of it was seen done')
      const left = (performance.now() - told.atMs) / 1000
      return Math.max(told.seconds / left, left / told.seconds)
    }
    await wait(POLL_MS)
  }
}
