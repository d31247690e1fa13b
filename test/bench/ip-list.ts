import { createWriteStream } from 'node:fs'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbeddedPostgres } from '@plumbline/db/embedded'
import { startService } from '../support/service.ts'
import { atLeast, type Figure } from './figure.ts'
import { makeIpLists } from './ip-lists.ts'
import { uploadList, waitForEnd } from './upload.ts'

const ADDRESSES = 1_000_000
const WARM_UP = 50_000
/** Spreads the addresses over 2.0.0.0 to 215.0.0.0, each once. */
const FIRST = 0x0200_0000
const STEP = 3_571
/** With every list loaded the engine may cost less than half of what the pipeline does for a record. */
const RATIO_LEAST = 0.7

/** Records a second of a list of a million addresses, against an engine that gives the same kind of answers at once. */
export async function run(): Promise<readonly Figure[]> {
  await using lists = await makeIpLists()
  const dir = await mkdtemp(join(tmpdir(), 'plumbline-ip-list-'))
  try {
    const list = join(dir, 'list.csv')
    const warmUp = join(dir, 'warm-up.csv')
    await writeAddresses(list, ADDRESSES)
    await writeAddresses(warmUp, WARM_UP)
    const replayed = await measure('instant', lists.dir, warmUp, list)
    const real = await measure('real', lists.dir, warmUp, list)
    const head = { name: 'ip list of a million', backend: 'embedded', unit: 'records/s' } as const
    return [atLeast(head, real, replayed, RATIO_LEAST)]
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}

async function measure(
  engines: 'instant' | 'real',
  listsDir: string,
  warmUp: string,
  list: string,
): Promise<number> {
  const dataDir = await mkdtemp(join(tmpdir(), 'plumbline-bench-'))
  const postgres = await startEmbeddedPostgres({ dataDir })
  try {
    await using service = await startService({
      databaseUrl: postgres.url,
      workers: [engines === 'instant' ? ['ip', '--replay'] : ['ip'], ['batch']],
      engines,
      env: { LISTS_DIR: listsDir },
    })
    const account = await service.account({ credits: ADDRESSES + WARM_UP })
    const first = await uploadList(service, account, warmUp, 'ip')
    await waitForEnd(service, account, first.id)
    const startMs = performance.now()
    const { id } = await uploadList(service, account, list, 'ip')
    const batch = await waitForEnd(service, account, id, 100)
    if (batch.status !== 'completed' || batch.rows.done !== ADDRESSES) {
      throw new Error(`the list ended as ${batch.status} with ${batch.rows.done} rows`)
    }
    return ADDRESSES / ((performance.now() - startMs) / 1000)
  } finally {
    await postgres.stop()
    await rm(dataDir, { recursive: true, force: true })
  }
}

async function writeAddresses(path: string, count: number): Promise<void> {
  const file = createWriteStream(path)
  file.write('ip\n')
  for (let at = 0; at < count; at += 1_000) {
    let text = ''
    for (let row = at; row < Math.min(count, at + 1_000); row++) {
      const value = FIRST + row * STEP
      const octets = [value / 0x100_0000, value / 0x1_0000, value / 0x100, value]
      text += `${octets.map((octet) => Math.floor(octet) % 256).join('.')}\n`
    }
    if (!file.write(text)) await once(file, 'drain')
  }
  file.end()
  await once(file, 'close')
}
