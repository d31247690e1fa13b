import { PLANS } from '@plumbline/contract/plans'
import { expect, inject, test } from 'vitest'
import { createTestDatabase, databaseUrl, onServer } from '../../../test/support/postgres.ts'
import { openDatabase } from './database.ts'
import { migrate } from './migrate.ts'

test('numbers beyond 2^53 - 1 are an error, smaller ones are numbers', async () => {
  await using database = await createTestDatabase()
  await using db = openDatabase({ url: database.url, poolSize: 1, applicationName: 'test' })
  const { rows } = await db.pool.query(
    "select 9007199254740991::bigint as big, array[1, null, 3]::bigint[] as list, date '2026-02-03' as day",
  )
  expect(rows).toEqual([{ big: 9_007_199_254_740_991, list: [1, null, 3], day: '2026-02-03' }])
  await expect(db.pool.query('select 9007199254740992::bigint')).rejects.toThrow(/2\^53/)
})

test('the parsers of the driver stay as they are', async () => {
  await using database = await createTestDatabase()
  await using db = openDatabase({ url: database.url, poolSize: 1, applicationName: 'test' })
  await db.pool.query('select 1::bigint')
  const { default: pg } = await import('pg')
  expect(pg.types.getTypeParser(20, 'text')('1')).toBe('1')
})

test('processes that migrate at once do it once', async () => {
  const server = inject('TEST_DATABASE_URL')
  const name = `test_migrate_${process.pid}`
  await onServer(server, `create database ${name}`)
  try {
    const runs = await Promise.all(
      Array.from({ length: 4 }, async () => {
        await using db = openDatabase({
          url: databaseUrl(server, name),
          poolSize: 1,
          applicationName: 'test',
        })
        return await migrate(db)
      }),
    )
    const worked = runs.filter((names) => names.length > 0)
    expect(worked).toHaveLength(1)
    expect(worked[0]).toEqual(worked[0]?.toSorted())
  } finally {
    await onServer(server, `drop database ${name} with (force)`)
  }
})

test('the plans are those of the contract', async () => {
  await using database = await createTestDatabase()
  await using db = openDatabase({ url: database.url, poolSize: 1, applicationName: 'test' })
  await db.pool.query("update plans set monthly_credits = 1 where plan = 'pro'")
  expect(await migrate(db)).toEqual([])
  const rows = await db.kysely.selectFrom('plans').selectAll().execute()
  expect(Object.fromEntries(rows.map((row) => [row.plan, row.monthly_credits]))).toEqual({
    free: PLANS.free.monthlyCredits,
    starter: PLANS.starter.monthlyCredits,
    pro: PLANS.pro.monthlyCredits,
  })
})

test('a migration that changed after it was run, or is unknown, is an error', async () => {
  await using database = await createTestDatabase()
  await using db = openDatabase({ url: database.url, poolSize: 1, applicationName: 'test' })
  await db.pool.query("insert into migrations (name, sha256) values ('9999_later.sql', 'x')")
  await expect(migrate(db)).rejects.toThrow(/9999_later\.sql, which this version does not know/)
  await db.pool.query("delete from migrations where name = '9999_later.sql'")
  await db.pool.query("update migrations set sha256 = 'x' where name = '0101_accounts.sql'")
  await expect(migrate(db)).rejects.toThrow(/0101_accounts\.sql was run with SHA-256 x/)
})
