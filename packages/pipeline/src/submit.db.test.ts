import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Problem } from '@plumbline/contract/problem'
import { createAccount } from '@plumbline/db/accounts'
import { openDatabase } from '@plumbline/db/database'
import { migrateQueue } from '@plumbline/queue/postgres-queues'
import { openStorage } from '@plumbline/storage/open'
import { expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/support/postgres.ts'
import { openPostgresTestQueue } from '../../../test/support/queue.ts'
import { DEFAULT_LIMITS, type Pipeline } from './pipeline.ts'
import { submitBatch } from './submit.ts'

const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

test('lists that come at once are taken up to the limit and no further', async () => {
  await using stack = new AsyncDisposableStack()
  const database = stack.use(await createTestDatabase())
  await migrateQueue(database.url)
  const dir = await mkdtemp(join(tmpdir(), 'plumbline-submit-'))
  stack.defer(() => rm(dir, { recursive: true, force: true }))
  const db = stack.use(openDatabase({ url: database.url, poolSize: 8, applicationName: 'test' }))
  const files = join(dir, 'files')
  const storage = await openStorage({ url: pathToFileURL(files).href, scratchDir: dir })
  const queue = stack.use(await openPostgresTestQueue(database.url))
  const pipeline: Pipeline = {
    db,
    queue: queue.backend,
    storage: stack.use(storage),
    scoreFraud: () => {
      throw new Error('nothing is scored')
    },
    scratchDir: dir,
    limits: { ...DEFAULT_LIMITS, unfinishedLists: 3 },
    log,
  }
  const account = await createAccount(db.kysely, { email: 'ada@example.com', plan: 'pro' })
  const submitted = await Promise.allSettled(
    Array.from({ length: 20 }, async (_, no) => {
      const path = join(dir, `upload-${no}`)
      await writeFile(path, 'email\nada@example.com\n')
      return await submitBatch(pipeline, {
        accountId: account.id,
        mode: 'live',
        product: 'email',
        name: null,
        path,
        fileName: 'a.csv',
        defaultCountry: null,
        autoStart: false,
        maxCredits: null,
        retentionDays: 30,
        explain: false,
        chargeUnknown: true,
      })
    }),
  )
  const taken = submitted.filter(({ status }) => status === 'fulfilled')
  expect(taken).toHaveLength(3)
  for (const { status, ...result } of submitted) {
    if (status === 'fulfilled') continue
    expect(result).toMatchObject({ reason: expect.any(Problem) })
    expect(result).toMatchObject({ reason: { code: 'too_many_requests' } })
  }
  // Refused after all, a list leaves no file in the store.
  expect(await readdir(join(files, 'uploads'))).toHaveLength(3)
})
