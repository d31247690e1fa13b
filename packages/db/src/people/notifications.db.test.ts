import type { BatchState } from '@plumbline/contract/batch'
import { openTestDatabase } from '@plumbline/testkit/database'
import { expect, test } from 'vitest'
import { createAccount } from '../accounts.ts'
import { moveBatch } from '../batches/rows.ts'
import { inTransaction, type Db } from '../database.ts'
import { rowsRead } from '../rows-read-fixture.ts'
import { addMember } from './members.ts'
import { renewNotification, takeDisabledEndpoints, takeEndedBatches } from './notifications.ts'
import { insertUser } from './users.ts'

test('a batch that was erased as soon as it had ended is told for a day, in the state it ended in', async () => {
  await using stage = await openStage()
  const { db, batch, take } = stage
  const done = ['running', 'finalizing', 'completed'] as const
  await batch('stored', done)
  await batch('erased', [...done, 'expired'])
  await batch('canceled', ['canceling', 'canceled', 'expired'])
  await batch('never_started', ['ready', 'expired'])
  await batch('of_last_week', [...done, 'expired'])
  await batch('still_running', ['running'])
  await db.pool.query(
    `update batches set ats = ats || jsonb_build_object('expired', now() - interval '7 days')
     where id = 'of_last_week'`,
  )
  expect(await take()).toEqual({ stored: 'completed', erased: 'completed', canceled: 'canceled' })
  expect(await take()).toEqual({})
  const { rows } = await db.pool.query('select batch_id from batch_watchers')
  expect(rows).toEqual([{ batch_id: 'still_running' }])
})

test('a search for whom to notify reads the batches that have ended, not all that are watched', async () => {
  await using stage = await openStage()
  const { db, batch, take } = stage
  await batch('running', ['running'])
  await batch('completed', ['running', 'finalizing', 'completed'])
  await db.pool.query(`
    insert into batches select (jsonb_populate_record(b,
        jsonb_build_object('id', 'more_' || n, 'status', 'analyzing'))).*
      from batches b, generate_series(1, 500) n where b.id = 'running';
    insert into batch_watchers (batch_id, user_id)
      select b.id, w.user_id from batches b, batch_watchers w
      where b.id like 'more%' and w.batch_id = 'running'`)
  await db.pool.query('vacuum analyze batches, batch_watchers')
  await inTransaction(db, async (tx) => {
    const count = async (): Promise<number> =>
      (await rowsRead(tx, 'batches')) + (await rowsRead(tx, 'batch_watchers'))
    const before = await count()
    expect(await takeEndedBatches(tx, 10)).toMatchObject([{ id: 'completed' }])
    expect((await count()) - before).toBeLessThan(50)
  })
  expect(await take()).toEqual({})
})

test('a batch that had ended before it is watched again is told', async () => {
  await using stage = await openStage()
  const { db, batch, take } = stage
  await batch('renamed', ['running', 'finalizing', 'completed'])
  const { rows } = await db.pool.query<{ user_id: string }>('select user_id from batch_watchers')
  expect(await take()).toEqual({ renamed: 'completed' })
  await db.pool.query('insert into batch_watchers (batch_id, user_id) values ($1, $2)', [
    'renamed',
    rows[0]?.user_id,
  ])
  expect(await take()).toEqual({ renamed: 'completed' })
})

test('the message about a renamed batch is found by its key, not among all that wait', async () => {
  await using stage = await openStage()
  const { db, batch, take } = stage
  await batch('renamed', ['running', 'finalizing', 'completed'])
  await batch('renamed_', ['running', 'finalizing', 'completed'])
  await take()
  await db.pool.query(`
    insert into mails (kind, sealed, expires_at, once_key)
    select 'batch_ended', '', now() + interval '1 day', 'batch ' || b || ' ' || u.id
    from unnest('{renamed,renamed_}'::text[]) b, users u
    union all
    select 'batch_ended', '', now() + interval '1 day', 'batch other_' || n || ' usr'
    from generate_series(1, 5000) n`)
  await db.pool.query('vacuum analyze mails')
  await inTransaction(db, async (tx) => {
    const before = await rowsRead(tx, 'mails')
    await renewNotification(tx, 'renamed')
    expect((await rowsRead(tx, 'mails')) - before).toBeLessThan(10)
  })
  expect(await take()).toEqual({ renamed: 'completed' })
  const { rows } = await db.pool.query(`select from mails where once_key like 'batch renamed%'`)
  expect(rows).toHaveLength(1)
})

test('a search for owners to tell of a disabled endpoint does not read all endpoints', async () => {
  await using stage = await openStage()
  const { db } = stage
  await db.pool.query(`
    insert into webhook_endpoints (id, account_id, url, events, secret, disabled_at, disabled_reason,
      owners_told_at)
    select 'whk_' || lpad(n::text, 16, '0'), a.id, 'https://a.example', '{batch.completed}', 's',
      case when n <= 20 then now() end, case when n <= 20 then 'failing' end,
      case when n <= 19 then now() end
    from generate_series(1, 5000) n, accounts a`)
  await db.pool.query('vacuum analyze webhook_endpoints')
  await inTransaction(db, async (tx) => {
    const before = await rowsRead(tx, 'webhook_endpoints')
    expect(await takeDisabledEndpoints(tx, 10)).toMatchObject([{ reason: 'failing' }])
    expect((await rowsRead(tx, 'webhook_endpoints')) - before).toBeLessThan(20)
    expect(await takeDisabledEndpoints(tx, 10)).toEqual([])
  })
})

interface Stage extends AsyncDisposable {
  readonly db: Db
  /** Creates a batch that a member watches, and moves it through these states. */
  batch(id: string, states: readonly BatchState[]): Promise<void>
  /** Takes what is to be told: states by batch. */
  take(): Promise<Record<string, BatchState>>
}

async function openStage(): Promise<Stage> {
  await using stack = new AsyncDisposableStack()
  const db = stack.use(await openTestDatabase())
  const email = 'a@b.example'
  const { id: accountId } = await createAccount(db, { email, plan: 'free' })
  const userId = await inTransaction(db, async (tx) => {
    const person = { name: 'Ada', email, emailKey: email, passwordDigest: '', verified: true }
    const user = await insertUser(tx, person)
    if (user === undefined) throw new Error('the address is taken')
    await addMember(tx, { accountId, userId: user.id, role: 'owner' })
    return user.id
  })
  const owned = stack.move()
  return {
    db,
    batch: async (id, states) => {
      await db.pool.query(
        `insert into batches (id, account_id, mode, product, status, explain, charge_unknown,
           auto_start, retention_days, requested, source_key, file_bytes, ats)
         values ($1, $2, 'live', 'email', 'analyzing', false, true, true, 0, '{}', $1, 1, '{}')`,
        [id, accountId],
      )
      await db.pool.query('insert into batch_watchers (batch_id, user_id) values ($1, $2)', [
        id,
        userId,
      ])
      for (const state of states) await inTransaction(db, (tx) => moveBatch(tx, id, state))
    },
    take: async () => {
      const taken = await inTransaction(db, (tx) => takeEndedBatches(tx, 10))
      return Object.fromEntries(taken.map(({ id, status }) => [id, status]))
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}
