import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { BatchView } from '@plumbline/contract/batch-view'
import { startService, type Account, type TestService } from '@plumbline/testkit/service'
import { bounded, type Figure } from './figure.ts'
import { createDatabase, startServers } from './servers.ts'
import { uploadList, writeList } from './upload.ts'

/** One to two minutes for a worker that answers 50 of each task in a second: many times what a save comes after. */
const RECORDS = 60_000
const LOOK_MS = 250
const MOST_TIMES = 2

/** How many times too long or too short `eta_seconds` is at the half of a batch. */
export async function run(): Promise<readonly Figure[]> {
  await using servers = await startServers()
  const dir = await mkdtemp(join(tmpdir(), 'plumbline-list-'))
  try {
    const list = join(dir, 'list.csv')
    await writeList(list, RECORDS)
    const figures: Figure[] = []
    for (const backend of ['redis', 'embedded'] as const) {
      await using service = await startService({
        databaseUrl: await createDatabase(servers.databaseUrl, backend),
        redisUrl: backend === 'redis' ? servers.redisUrl : undefined,
        workers: [['email', '--delay=1000', '--width=50'], ['batch']],
      })
      const account = await service.account({ credits: RECORDS })
      const { id } = await uploadList(service, account, list, 'email')
      const times = await timesOff(service, account, id)
      figures.push(
        bounded({ name: 'time-left at the half', backend, unit: 'x' }, times, MOST_TIMES),
      )
    }
    return figures
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
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
      if (told === undefined) throw new Error('the batch ended without a half')
      const left = (performance.now() - told.atMs) / 1000
      return Math.max(told.seconds / left, left / told.seconds)
    }
    await wait(LOOK_MS)
  }
}
