import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { BatchView } from '@plumbline/contract/batch-view'
import type { ErasureView } from '@plumbline/contract/erasure'
import { startService, type Account, type TestService } from '@plumbline/testkit/service'
import { bounded, type Figure } from './figure.ts'
import { startServers } from './servers.ts'
import { uploadBatch, waitForRows, writeContacts } from './upload.ts'

/**
 * Stored rows: one batch that was checked, and batches with its outcomes, each with the same rows.
 */
const RECORDS = 100_000
const BATCHES = 10

/** Rows that an account may have stored, and hours within which a value must be erased from them. */
const MOST_ROWS = 5_000_000
const MOST_HOURS = 24

const POLL_MS = 100

/**
 * Three addresses, and a domain with its twenty addresses: every batch has them all, so that every
 * result is rewritten.
 */
const TARGET = {
  email: [7, 50_000, 99_999].map((row) => `person.${row}@company${row % 5000}.example`),
  domain: 'company1234.example',
  include_addresses: true,
}

/** Measures the erasure of values from a million rows, and extrapolates to five million. */
export async function run(): Promise<readonly Figure[]> {
  await using servers = await startServers()
  await using dir = await mkdtempDisposable(join(tmpdir(), 'plumbline-erase-'))
  const list = join(dir.path, 'list.csv')
  await writeContacts(list, RECORDS)
  await using service = await startService({
    databaseUrl: servers.databaseUrl,
    redisUrl: undefined,
    workers: [['email'], ['batch']],
  })
  const account = await service.account({ credits: RECORDS })
  await keepRows(service, account, list)
  const startMs = performance.now()
  const erasure = await erase(service, account)
  const seconds = (performance.now() - startMs) / 1000
  const rows = RECORDS * BATCHES
  const { erased } = erasure
  if (erased['batches'] !== BATCHES || erased['results'] !== BATCHES) {
    throw new Error(`the values were erased from ${JSON.stringify(erased)}`)
  }
  const hours = ((seconds / rows) * MOST_ROWS) / 3_600
  const backend = 'embedded'
  return [
    bounded({ name: `erase: from ${rows} rows`, backend, unit: 's' }, seconds, secondsFor(rows)),
    bounded(
      { name: `erase: from ${MOST_ROWS} rows, extrapolated`, backend, unit: 'h' },
      hours,
      MOST_HOURS,
    ),
  ]
}

/** The limit for this many rows, in proportion to that for `MOST_ROWS`. */
function secondsFor(rows: number): number {
  return (MOST_HOURS * 3_600 * rows) / MOST_ROWS
}

async function keepRows(service: TestService, account: Account, list: string): Promise<void> {
  const first = await uploadBatch(service, account, list, 'contact-intel')
  await waitForRows(service, account, first.id, RECORDS, POLL_MS)
  for (let at = 1; at < BATCHES; at++) {
    const path = `/v1/batches/${first.id}/rescore`
    // Safe because the service answers batches in the shape of its contract.
    const view = (await (await service.call(account.liveKey, 'POST', path, {})).json()) as BatchView
    await waitForRows(service, account, view.id, RECORDS, POLL_MS)
  }
}

async function erase(service: TestService, account: Account): Promise<ErasureView> {
  const asked = await viewOf(await service.call(account.liveKey, 'POST', '/v1/erase', TARGET))
  for (;;) {
    const path = `/v1/erase/${asked.id}`
    const view = await viewOf(await service.call(account.liveKey, 'GET', path))
    if (view.status === 'completed') return view
    await wait(POLL_MS)
  }
}

/** Safe because the service answers erasures in the shape of its contract. */
async function viewOf(response: Response): Promise<ErasureView> {
  if (!response.ok) throw new Error(`answered ${response.status}: ${await response.text()}`)
  return (await response.json()) as ErasureView
}
