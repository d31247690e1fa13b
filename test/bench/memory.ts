import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MEMORY_ENVIRONMENT, memoryFlags, type ProgramName } from '@plumbline/local/children'
import { peakMebibytes } from '@plumbline/testkit/peak-memory'
import { startService, type TestService } from '@plumbline/testkit/service'
import { bounded, type Figure } from './figure.ts'
import { onBothBackends } from './servers.ts'
import { uploadBatch, waitForRows, writeContacts } from './upload.ts'

const RECORDS = 1_000_000
const MOST_MEGABYTES = 180

/**
 * Peak resident memory of each process while a million records are processed, with the flags of
 * `npm start`. Measured from its second start on, as Node caches compiled code: the first takes 25
 * MB more.
 */
export async function run(): Promise<readonly Figure[]> {
  await using dir = await mkdtempDisposable(join(tmpdir(), 'plumbline-list-'))
  const list = join(dir.path, 'list.csv')
  await writeContacts(list, RECORDS)
  return await onBothBackends(async ({ name: backend, stores }) => {
    const options = {
      ...stores,
      workers: [['email'], ['batch']],
      execArgv: (program: ProgramName) => memoryFlags(160, program),
      env: MEMORY_ENVIRONMENT,
    }
    await (await startService(options))[Symbol.asyncDispose]()
    await using service = await startService(options)
    const account = await service.account({ credits: RECORDS })
    const { id } = await uploadBatch(service, account, list, 'email')
    await waitForRows(service, account, id, RECORDS, 250)
    return (await peaks(service)).map(({ name, megabytes }) =>
      bounded({ name: `memory: peak of ${name}`, backend, unit: 'MB' }, megabytes, MOST_MEGABYTES),
    )
  })
}

/** The kernel's high-water mark of each process. */
async function peaks(
  service: TestService,
): Promise<readonly { name: string; megabytes: number }[]> {
  return await Promise.all(
    [service.api, ...service.workers].map(async (member) => ({
      name: member.name,
      megabytes: await peakMebibytes(member),
    })),
  )
}
