import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { formOf, readCells, submitBatch, untilBatch } from '@plumbline/testkit/batches'
import { createTestDatabase } from '@plumbline/testkit/postgres'
import { startService } from '@plumbline/testkit/service'

test('only the service’s own user can access its files', async () => {
  await using database = await createTestDatabase()
  await using service = await startService({
    databaseUrl: database.url,
    workers: [['email', 'batch']],
  })
  const account = await service.account({ credits: 1_000 })
  const caller = { service, account, key: account.liveKey }
  const { id } = await submitBatch(caller, formOf({ product: 'email' }, 'email\na@example.com\n'))
  await untilBatch(caller, id)
  // Written by one program and read by another, which may run as another user.
  expect(await readCells(caller, id)).toHaveLength(2)
  const open: string[] = []
  let files = 0
  for (const name of await readdir(service.dataDir, { recursive: true })) {
    const { mode, uid } = await stat(join(service.dataDir, name))
    if ((mode & 0o077) !== 0) open.push(`${name} ${(mode & 0o777).toString(8)}`)
    if (process.getuid?.() === 0 && name.startsWith('files/') && uid === 0)
      open.push(`${name} root`)
    files += 1
  }
  expect(open).toEqual([])
  expect(files).toBeGreaterThanOrEqual(7)
})
