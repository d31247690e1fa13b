import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  call,
  expectSettled,
  formOf,
  readCells,
  readLines,
  submitBatch,
  untilBatch,
} from '@plumbline/testkit/batches'
import { readRepairs } from '@plumbline/db/batches/reconcile'
import { createTestDatabase } from '@plumbline/testkit/postgres'
import { startService } from '@plumbline/testkit/service'
import { startS3 } from '../simnet/s3/server.ts'

const KEYS = { accessKeyId: 'AKIAEXAMPLE', secretAccessKey: 'secret', region: 'eu-test-1' }

test('a batch with its files on S3 is read, answered, downloaded and erased there', async () => {
  await using database = await createTestDatabase()
  await using store = await startS3({ ...KEYS, bucket: 'lists' })
  // As left by a worker that was killed during a multipart upload of a result.
  const left = `plumbline/results/bat_${'x'.repeat(20)}-1.csv`
  store.leaveUpload(left, new Date(Date.now() - 2 * 86_400_000))
  store.leaveUpload('plumbline/results/of-another', new Date(0))
  const folder = await mkdtemp(join(tmpdir(), 'plumbline-s3-secret-'))
  await using cleaning = new AsyncDisposableStack()
  cleaning.defer(() => rm(folder, { recursive: true, force: true }))
  const secret = join(folder, 'secret')
  await writeFile(secret, `${KEYS.secretAccessKey}\n`, { mode: 0o600 })
  await using service = await startService({
    databaseUrl: database.url,
    workers: [['email', 'phone', 'ip', 'domain', 'batch']],
    env: {
      FILES_URL: 's3://lists/plumbline',
      AWS_ENDPOINT_URL_S3: store.url,
      AWS_ACCESS_KEY_ID: KEYS.accessKeyId,
      AWS_SECRET_ACCESS_KEY_FILE: secret,
      AWS_REGION: KEYS.region,
    },
  })
  const openUploads = (): readonly string[] => [...store.openUploads.values()].map(({ key }) => key)
  await expect.poll(openUploads).toEqual(['plumbline/results/of-another'])
  // It is counted once it is removed.
  await expect.poll(() => readRepairs(service.db)).toEqual([{ kind: 'stray_file', count: 1 }])
  const account = await service.account({ credits: 1_000 })
  const caller = { service, account, key: account.liveKey }
  const content = `email\n${Array.from({ length: 300 }, (_, no) => `u${no}@example.com\n`).join('')}`
  const { id } = await submitBatch(caller, formOf({ product: 'email' }, content))
  expect([...store.objects.keys()]).toContain(`plumbline/uploads/${id}`)
  const done = await untilBatch(caller, id)
  expect(done).toMatchObject({ status: 'completed', rows: { done: 300 } })
  const lines = await readLines(caller, id)
  const [names, ...cells] = await readCells(caller, id)
  expect(names?.[0]).toBe('email')
  expect(cells.map(([email]) => email)).toEqual(lines.map((_, no) => `u${no}@example.com`))
  const MARKER = 'plumbline/installation'
  expect(store.objects.size).toBe(3)
  expect((await call(caller, 'DELETE', `/v1/batches/${id}`)).status).toBe(204)
  expect([...store.objects.keys()]).toEqual([MARKER])
  await expectSettled(caller, 25_000 + 1_000 - 300)
})
