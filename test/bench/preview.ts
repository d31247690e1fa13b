import { openAsBlob } from 'node:fs'
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { BatchPreview } from '@plumbline/contract/batch-preview'
import type { BatchView } from '@plumbline/contract/batch-view'
import { memoryFlags } from '@plumbline/local/children'
import { startService, type Account, type TestService } from '@plumbline/testkit/service'
import { atMost, bounded, type Figure } from './figure.ts'
import { startServers } from './servers.ts'
import { writeContacts } from './upload.ts'
import { writeWorkbook } from './workbook-file.ts'
import { readIn } from './workbook-reading.ts'

const ROWS = 1_000_000

/**
 * Longest seconds from the response to an upload until its preview is available, and until all rows
 * are counted.
 */
const MOST_SECONDS = 3
const MOST_COUNTING_SECONDS = 60
/** Largest permitted ratio to reading the workbook alone: its rows are also compressed and stored. */
const MOST_TIMES = 2.5

/** The preview of a dry run of a million rows over HTTP, as CSV and as a workbook. */
export async function run(): Promise<readonly Figure[]> {
  await using servers = await startServers()
  await using folder = await mkdtempDisposable(join(tmpdir(), 'plumbline-preview-'))
  const files = { csv: join(folder.path, 'list.csv'), xlsx: join(folder.path, 'list.xlsx') }
  await writeContacts(files.csv, ROWS)
  await writeWorkbook(files.xlsx, ROWS)
  await using service = await startService({
    databaseUrl: servers.databaseUrl,
    redisUrl: servers.redisUrl,
    workers: [['batch']],
    execArgv: (program) => memoryFlags(160, program),
  })
  const account = await service.account({ credits: 1 })
  const figures: Figure[] = []
  for (const [kind, path] of Object.entries(files)) {
    const id = await upload(service, account, path)
    const fromMs = performance.now()
    const seconds = (): number => (performance.now() - fromMs) / 1000
    await previewOf(service, account, id)
    const first = seconds()
    const counted = await countedOf(service, account, id)
    if (counted !== ROWS) throw new Error(`${counted} rows of ${ROWS} are counted`)
    const head = { backend: 'redis', unit: 's' }
    const all = seconds()
    const counting = { ...head, name: `preview: ${kind}, until all rows are counted` }
    figures.push(
      bounded({ ...head, name: `preview: ${kind}, until it is available` }, first, MOST_SECONDS),
    )
    if (kind === 'xlsx') {
      const alone = (await readIn('read', path)).tookMs / 1000
      figures.push(atMost(counting, all, alone, MOST_TIMES))
    } else {
      figures.push(bounded(counting, all, MOST_COUNTING_SECONDS))
    }
  }
  return figures
}

async function upload(service: TestService, account: Account, path: string): Promise<string> {
  const form = new FormData()
  form.set('start', 'false')
  form.set('product', 'email')
  form.set('file', await openAsBlob(path), path)
  const response = await service.call(account.liveKey, 'POST', '/v1/batches', form)
  if (response.status !== 202) {
    throw new Error(`upload answered ${response.status}: ${await response.text()}`)
  }
  // Safe because the service answers batches in the shape of its contract.
  return ((await response.json()) as BatchView).id
}

async function previewOf(
  service: TestService,
  account: Account,
  id: string,
): Promise<BatchPreview> {
  for (;;) {
    const response = await service.call(account.liveKey, 'GET', `/v1/batches/${id}/preview`)
    // Safe because the service answers previews in the shape of its contract.
    if (response.status === 200) return (await response.json()) as BatchPreview
    const text = await response.text()
    if (response.status !== 409) throw new Error(`preview answered ${response.status}: ${text}`)
  }
}

async function countedOf(service: TestService, account: Account, id: string): Promise<number> {
  for (;;) {
    const { counted, rows } = await previewOf(service, account, id)
    if (counted) return rows?.total ?? 0
    await wait(250)
  }
}
