import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { PACKS, PLANS } from '@plumbline/contract/plans'
import { listPacks, listPlans } from './offers.ts'
import { expect, inject, test } from 'vitest'
import { openTestDatabase } from '@plumbline/testkit/database'
import { createTestDatabase, databaseUrl, onServer } from '@plumbline/testkit/postgres'
import { sql } from 'kysely'
import { openDatabase, preparedAs } from './database.ts'
import { migrate } from './migrate.ts'
import { retryStatement } from './retry.ts'

test('numbers beyond 2^53 - 1 are an error, smaller ones are numbers', async () => {
  await using db = await openTestDatabase(1)
  const { rows } = await db.pool.query(
    "select 9007199254740991::bigint as big, array[1, null, 3]::bigint[] as list, date '2026-02-03' as day",
  )
  expect(rows).toEqual([{ big: 9_007_199_254_740_991, list: [1, null, 3], day: '2026-02-03' }])
  await expect(db.pool.query('select 9007199254740992::bigint')).rejects.toThrow(/2\^53/)
})

test('the parsers of the driver stay unchanged', async () => {
  await using db = await openTestDatabase(1)
  await db.pool.query('select 1::bigint')
  const { default: pg } = await import('pg')
  expect(pg.types.getTypeParser(20, 'text')('1')).toBe('1')
})

test('concurrent processes migrate once', async () => {
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

test('a new installation has the plans and packs of the contract', async () => {
  await using db = await openTestDatabase(1)
  const plans = (await listPlans(db)).map((row) => [
    row.plan,
    { monthlyCredits: row.monthly_credits, testKeys: row.test_keys },
  ])
  expect(Object.fromEntries(plans)).toEqual(PLANS)
  const packs = (await listPacks(db)).map((row) => [
    row.pack,
    { credits: row.credits, priceUsd: (row.price_cents ?? 0) / 100 },
  ])
  expect(Object.fromEntries(packs)).toEqual(PACKS)
})

test('a migration that has changed since it was run, or is unknown, is an error', async () => {
  await using db = await openTestDatabase(1)
  await db.pool.query("insert into migrations (name, sha256) values ('9999_later.sql', 'x')")
  await expect(migrate(db)).rejects.toThrow(/9999_later\.sql, which this version does not know/)
  await db.pool.query("delete from migrations where name = '9999_later.sql'")
  await db.pool.query("update migrations set sha256 = 'x' where name = '0001_accounts.sql'")
  await expect(migrate(db)).rejects.toThrow(/0001_accounts\.sql was run with SHA-256 x/)
})

test('a statement that takes too long is ended by the server', async () => {
  await using database = await createTestDatabase()
  await using db = openDatabase({
    url: database.url,
    poolSize: 1,
    applicationName: 'test',
    statementMs: 100,
  })
  await expect(db.pool.query('select pg_sleep(30)')).rejects.toMatchObject({ code: '57014' })
  expect((await db.pool.query('select 1 as one')).rows).toEqual([{ one: 1 }])
})

test('a server that stops replying costs one time-out, and its connection is not used again', async () => {
  await using database = await createTestDatabase()
  await using network = await openNetwork(database.url)
  await using db = openDatabase({
    url: network.url,
    poolSize: 1,
    applicationName: 'test',
    statementMs: 100,
  })
  await db.pool.query('select 1')
  const began = performance.now()
  const ended = db.kysely.transaction().execute(async (tx) => {
    network.fallSilent()
    await sql`select 1`.execute(tx)
  })
  await expect(ended).rejects.toThrow()
  // The rollback is not awaited as well.
  expect(performance.now() - began).toBeLessThan(9_000)
  network.recover()
  expect((await db.pool.query('select 1 as one')).rows).toEqual([{ one: 1 }])
})

test('a transaction that a standby refuses is repeated on another connection, which may lead to the primary', async () => {
  await using db = await openTestDatabase(1)
  // As on a connection to a server that is not promoted yet, or is not the primary any more.
  await db.pool.query('set default_transaction_read_only = on')
  let tries = 0
  await retryStatement(async () => {
    tries += 1
    await db.kysely.transaction().execute(async (tx) => {
      await sql`create table stored ()`.execute(tx)
    })
  })
  expect(tries).toBe(2)
})

test('a named statement is prepared once per connection, and never through a pooler', async () => {
  await using database = await createTestDatabase()
  for (const pooled of [false, true]) {
    const options = { url: database.url, poolSize: 1, applicationName: 'test', pooled }
    await using db = openDatabase(options)
    const ask = async (n: number): Promise<unknown> =>
      (await sql`${preparedAs('test.ask')} select ${n}::int as n`.execute(db.kysely)).rows[0]
    expect([await ask(1), await ask(2)]).toEqual([{ n: 1 }, { n: 2 }])
    const { rows } = await db.pool.query<{ name: string }>(
      'select name from pg_prepared_statements',
    )
    expect(rows.map(({ name }) => name)).toEqual(pooled ? [] : ['test.ask'])
  }
})

test('a migration waits for another one for longer than the time-out of a statement', async () => {
  await using database = await createTestDatabase()
  const options = { url: database.url, poolSize: 1, applicationName: 'test' }
  await using holder = openDatabase(options)
  const held = await holder.pool.connect()
  await held.query('select pg_advisory_lock(7586205101)')
  await using db = openDatabase({ ...options, statementMs: 50 })
  const migrated = migrate(db)
  await held.query('select pg_sleep(0.3)')
  await held.query('select pg_advisory_unlock(7586205101)')
  held.release()
  expect(await migrated).toEqual([])
  await expect(db.pool.query('select pg_sleep(30)')).rejects.toMatchObject({ code: '57014' })
})

/** A proxy of the server that can stop forwarding on open connections. */
async function openNetwork(
  target: string,
): Promise<AsyncDisposable & { readonly url: string; fallSilent(): void; recover(): void }> {
  const upstream = new URL(target)
  const sockets = new Set<Socket>()
  let silent = false
  const server = createServer((client) => {
    const behind = connect(Number(upstream.port), upstream.hostname)
    for (const [from, to] of [
      [client, behind],
      [behind, client],
    ] as const) {
      sockets.add(from)
      from.on('error', () => to.destroy())
      from.on('close', () => to.destroy())
      from.on('data', (piece) => {
        if (!silent) to.write(piece)
      })
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the network has no port')

  const url = new URL(target)
  url.port = String(address.port)
  return {
    url: url.href,
    fallSilent: () => {
      silent = true
    },
    recover: () => {
      silent = false
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
