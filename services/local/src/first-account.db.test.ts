import { listAccounts } from '@plumbline/db/accounts'
import { openDatabase } from '@plumbline/db/database'
import { createTestDatabase } from '@plumbline/testkit/postgres'
import { expect, test } from 'vitest'
import { createFirstAccount, type FirstAccount } from './first-account.ts'

test('a first account whose keys cannot be kept is not made, and the next start makes it', async () => {
  await using database = await createTestDatabase()
  await using db = openDatabase({ url: database.url, poolSize: 1, applicationName: 'test' })
  const full = Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })
  await expect(createFirstAccount(db, 'svc', () => Promise.reject(full))).rejects.toBe(full)
  expect(await listAccounts(db, 10)).toEqual([])
  const kept: FirstAccount[] = []
  const made = await createFirstAccount(db, 'svc', async (account) => void kept.push(account))
  expect(kept).toEqual([made])
  expect((await listAccounts(db, 10)).map(({ id }) => id)).toEqual([made?.accountId])
  expect(await createFirstAccount(db, 'svc', () => Promise.reject(full))).toBeUndefined()
})
