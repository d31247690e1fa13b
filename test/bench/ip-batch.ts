import { createWriteStream } from 'node:fs'
import { once } from 'node:events'
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startService } from '@plumbline/testkit/service'
import { processorSeconds } from './processor-seconds.ts'
import { atLeast, atMost, type Figure } from './figure.ts'
import { makeIpLists } from './ip-lists.ts'
import { startPostgres } from './servers.ts'
import { uploadBatch, waitForEnd, waitForRows } from './upload.ts'

const ADDRESSES = 1_000_000
const WARM_UP = 50_000
/** Spreads the addresses over 2.0.0.0 to 215.0.0.0, each once. */
const FIRST = 0x0200_0000
const STEP = 3_571

/**
 * Limits at which lookups would determine the duration of a batch: the minimum ratio to the rate
 * with an engine that answers at once, and the largest ratio of the processor time of lookups to the
 * time from upload to finished file.
 */
const SPEED_LEAST = 0.5
const SHARE_MOST = 0.5

/**
 * Whether lookups determine the duration of a batch of a million addresses: its rate compared with
 * that of an engine that answers at once, and the processor time of the lookups.
 */
export async function run(): Promise<readonly Figure[]> {
  await using lists = await makeIpLists()
  await using dir = await mkdtempDisposable(join(tmpdir(), 'plumbline-ip-list-'))
  const list = join(dir.path, 'list.csv')
  const warmUp = join(dir.path, 'warm-up.csv')
  await writeAddresses(list, ADDRESSES)
  await writeAddresses(warmUp, WARM_UP)
  const instant = await measure('instant', lists.dir, warmUp, list)
  const real = await measure('real', lists.dir, warmUp, list)
  const speed = (seconds: number): number => ADDRESSES / seconds
  // Processor time of the real engine beyond the instant one; that of its larger answers counts as
  // lookups too.
  const lookUps = real.workerSeconds - instant.workerSeconds
  const head = { backend: 'embedded' } as const
  return [
    atLeast(
      {
        ...head,
        name: 'ip: batch of a million, compared with an instant engine',
        unit: 'records/s',
      },
      speed(real.seconds),
      speed(instant.seconds),
      SPEED_LEAST,
    ),
    atMost(
      { ...head, name: 'ip: processor time of lookups in a batch of a million', unit: 's' },
      lookUps,
      real.seconds,
      SHARE_MOST,
    ),
  ]
}

interface Measured {
  /** From the upload to the finished file. */
  readonly seconds: number
  /** Processor time of the IP worker during the batch. */
  readonly workerSeconds: number
}

async function measure(
  engines: 'instant' | 'real',
  listsDir: string,
  warmUp: string,
  list: string,
): Promise<Measured> {
  await using postgres = await startPostgres()
  await using service = await startService({
    databaseUrl: postgres.url,
    workers: [['ip'], ['batch']],
    engines,
    env: { LISTS_DIR: listsDir },
  })
  const [worker] = service.workers
  if (worker === undefined) throw new Error('the service has no IP worker')
  const account = await service.account({ credits: ADDRESSES + WARM_UP })
  const first = await uploadBatch(service, account, warmUp, 'ip')
  await waitForEnd(service, account, first.id)
  const busySeconds = await processorSeconds(worker)
  const startMs = performance.now()
  const { id } = await uploadBatch(service, account, list, 'ip')
  await waitForRows(service, account, id, ADDRESSES, 100)
  return {
    seconds: (performance.now() - startMs) / 1000,
    workerSeconds: (await processorSeconds(worker)) - busySeconds,
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
