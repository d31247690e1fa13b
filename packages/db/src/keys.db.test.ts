import { expect, test } from 'vitest'
import { openTestDatabase } from '@plumbline/testkit/database'
import { createAccount, getAccount, listAccounts, setPreferences } from './accounts.ts'
import { inTransaction } from './database.ts'
import { createKey, findKey, listKeys, noteKeysUsed, revokeKey } from './keys.ts'

const owner = { email: 'a@b.example', plan: 'pro' } as const

test('a created account is found with all its fields', async () => {
  await using db = await openTestDatabase(10)
  const made = await createAccount(db, { ...owner, timeZone: 'Europe/Berlin' })
  expect(made.id).toMatch(/^acc_[0-9A-Za-z]{16}$/)
  expect(await getAccount(db, made.id)).toEqual(made)
  expect(await listAccounts(db, 10)).toEqual([made])
  expect(await getAccount(db, 'acc_none')).toBeUndefined()
})

test.for(['Mars/Olympus', '+02:00', 'UTC+3', '', 'europe/berlin; drop table accounts'])(
  'the time zone %j is refused',
  async (timeZone) => {
    await using db = await openTestDatabase(10)
    await expect(createAccount(db, { ...owner, timeZone })).rejects.toMatchObject({
      code: 'unprocessable',
    })
  },
)

test('a time zone that Node knows and Postgres does not is refused', async () => {
  await using db = await openTestDatabase(10)
  // A name that was given up; newer ones than its release are as unknown to an older Postgres.
  const timeZone = 'US/Pacific-New'
  expect(() => Intl.DateTimeFormat('en', { timeZone })).not.toThrow()
  const refusal = { code: 'unprocessable', message: expect.stringContaining(timeZone) }
  await expect(createAccount(db, { ...owner, timeZone })).rejects.toMatchObject(refusal)
  const { id } = await createAccount(db, owner)
  const changing = inTransaction(db, (tx) => setPreferences(tx, id, { timeZone }))
  await expect(changing).rejects.toMatchObject(refusal)
  expect((await getAccount(db, id))?.timeZone).toBe('UTC')
})

test('a key identifies its account until it is revoked', async () => {
  await using db = await openTestDatabase(10)
  const account = await createAccount(db, owner)
  const made = await createKey(db, { accountId: account.id, mode: 'live', service: 'svc' })
  expect(await findKey(db, 'svc', made.key)).toMatchObject({
    keyId: made.record.id,
    accountId: account.id,
    mode: 'live',
    plan: 'pro',
  })
  expect(await revokeKey(db, { accountId: account.id, mode: 'live' })).toBe(made.record.id)
  expect(await revokeKey(db, { accountId: account.id, mode: 'live' })).toBeNull()
  expect(await findKey(db, 'svc', made.key)).toBeUndefined()
})

test('a new key revokes the older one of its mode and leaves the other mode unchanged', async () => {
  await using db = await openTestDatabase(10)
  const { id } = await createAccount(db, owner)
  const live = await createKey(db, { accountId: id, mode: 'live', service: 'svc' })
  const testing = await createKey(db, { accountId: id, mode: 'test', service: 'svc' })
  const next = await createKey(db, { accountId: id, mode: 'live', service: 'svc' })
  expect(await findKey(db, 'svc', live.key)).toBeUndefined()
  expect(await findKey(db, 'svc', testing.key)).toMatchObject({ mode: 'test' })
  expect(await findKey(db, 'svc', next.key)).toMatchObject({ mode: 'live' })
  const records = await listKeys(db, id)
  expect(records.map((record) => record.revokedAt === null).toSorted()).toEqual([false, true, true])
})

test('of keys created at the same moment exactly one stays active', async () => {
  await using db = await openTestDatabase(10)
  const { id } = await createAccount(db, owner)
  const made = await Promise.all(
    Array.from({ length: 10 }, () =>
      createKey(db, { accountId: id, mode: 'live', service: 'svc' }),
    ),
  )
  const found = await Promise.all(made.map(({ key }) => findKey(db, 'svc', key)))
  expect(found.filter((one) => one !== undefined)).toHaveLength(1)
})

test('the Free plan has no test keys, and there are no keys without an account', async () => {
  await using db = await openTestDatabase(10)
  const { id } = await createAccount(db, { ...owner, plan: 'free' })
  await expect(
    createKey(db, { accountId: id, mode: 'test', service: 'svc' }),
  ).rejects.toMatchObject({ code: 'forbidden' })
  await expect(
    createKey(db, { accountId: 'acc_none', mode: 'live', service: 'svc' }),
  ).rejects.toMatchObject({ code: 'not_found' })
})

test('the key itself is stored nowhere in the database', async () => {
  await using db = await openTestDatabase(10)
  const { id } = await createAccount(db, owner)
  const { key } = await createKey(db, { accountId: id, mode: 'live', service: 'svc' })
  const { rows } = await db.pool.query<{ row: string }>(
    'select to_jsonb(k)::text as row from api_keys k',
  )
  const text = rows.map((row) => row.row).join()
  expect(text).not.toContain(key)
  expect(text).not.toContain(key.slice('svc_live_'.length, -4))
})

test('the last use of a key is stored once a minute', async () => {
  await using db = await openTestDatabase(10)
  const { id } = await createAccount(db, owner)
  const { record } = await createKey(db, { accountId: id, mode: 'live', service: 'svc' })
  await noteKeysUsed(db, [record.id, record.id])
  const first = (await listKeys(db, id))[0]?.lastUsedAt
  await noteKeysUsed(db, [record.id])
  expect(first).toBeInstanceOf(Date)
  expect((await listKeys(db, id))[0]?.lastUsedAt).toEqual(first)
})
