import { deleteManyRows } from '@plumbline/db/closed-accounts'
import { createAccount, getAccount } from '@plumbline/db/accounts'
import { leaseTasks } from '@plumbline/db/batches/lease-tasks'
import { createKey, findKey } from '@plumbline/db/keys'
import { closeFinishedBatches } from '@plumbline/db/batches/stages'
import { inTransaction } from '@plumbline/db/database'
import { createWebhook, newWebhookId } from '@plumbline/db/webhooks/endpoints'
import { closeAccount, resumeAccount, suspendAccount } from '@plumbline/metering/administer'
import { auditLedger } from '@plumbline/testkit/audit-ledger'
import { allowAnyTransition } from '@plumbline/testkit/any-transition'
import { openTestPipeline } from '@plumbline/testkit/pipeline'
import { expect, test } from 'vitest'
import { eraseClosedAccounts } from './erase-accounts.ts'
import { getBatch } from './read.ts'

async function openHarness() {
  const harness = await openTestPipeline({ limits: { chunkRecords: 4 } })
  const lines = Array.from({ length: 12 }, (_, no) => `u${no}@a.example`)
  const { id } = await harness.read(`email\n${lines.join('\n')}\n`, { product: 'email' })
  const leaseAll = () => {
    const slots = { email: 100, phone: 0, ip: 0, domain: 0 }
    const { leaseMs } = harness.pipeline.limits
    return leaseTasks(harness.pipeline.db, { slots, reserve: 0, leaseMs })
  }
  return { ...harness, id, leaseAll }
}

test('no task of a suspended account is dispatched, its hold stays, and its batch continues once it is resumed', async () => {
  await using harness = await openHarness()
  const { db } = harness.pipeline
  const act = { actor: 'ada', accountId: harness.owner.accountId }
  await suspendAccount(db, { ...act, reason: null })
  expect(await harness.leaseAll()).toEqual([])
  expect(await getBatch(harness.pipeline, harness.owner, harness.id)).toMatchObject({
    status: 'running',
    credits: { held: 12 },
  })
  await resumeAccount(db, act)
  await harness.answer()
  await closeFinishedBatches(db)
  await harness.workStages()
  expect(await getBatch(harness.pipeline, harness.owner, harness.id)).toMatchObject({
    status: 'completed',
    credits: { used: 12, held: 0 },
  })
})

test('a closed account’s running batch is canceled and erased, and no data that names it stays', async () => {
  await using harness = await openHarness()
  const { db } = harness.pipeline
  const { accountId } = harness.owner
  const { key } = await createKey(db, { accountId, mode: 'live', service: 'svc' })
  await db.pool.query(
    `insert into erasures (id, account_id, mode, value_count, include_addresses, target, place)
     values ('ers_0000000000000001', $1, 'live', 1, false, '', '{}')`,
    [accountId],
  )
  await closeAccount(db, { actor: 'ada', accountId })
  expect(await findKey(db, 'svc', key)).toBeUndefined()
  expect(await eraseClosedAccounts(harness.pipeline)).toBe(0)
  await harness.workStages()
  expect(await eraseClosedAccounts(harness.pipeline)).toBe(0)
  await db.pool.query(
    `update erasures set status = 'completed', target = null, completed_at = now()`,
  )
  await expect
    .poll(async () => {
      await harness.workStages()
      return await eraseClosedAccounts(harness.pipeline)
    })
    .toBe(1)
  expect(await eraseClosedAccounts(harness.pipeline)).toBe(0)
  await expect(getBatch(harness.pipeline, harness.owner, harness.id)).rejects.toMatchObject({
    code: 'not_found',
  })
  expect(await getAccount(db, accountId)).toMatchObject({ email: 'closed', status: 'closed' })
  for (const table of ['api_keys', 'erasures']) {
    const { rows } = await db.pool.query(`select from ${table} where account_id = $1`, [accountId])
    expect(rows).toEqual([])
  }
  expect(await auditLedger(db)).toEqual([])
})

test('what a closed account has very much of is deleted in bounded statements, which a stop interrupts', async () => {
  await using harness = await openTestPipeline()
  const { db } = harness.pipeline
  const { accountId } = harness.owner
  const { id: other } = await createAccount(db, { email: 'b@b.example', plan: 'free' })
  const endpoints = [`whk_${'a'.repeat(16)}`, `whk_${'b'.repeat(16)}`, `whk_${'c'.repeat(16)}`]
  for (const [no, id] of endpoints.entries()) {
    await db.pool.query(
      `insert into webhook_endpoints (id, account_id, url, events, secret)
       values ($1, $2, 'https://a.example', '{key.revoked}', 's')`,
      [id, no < 2 ? accountId : other],
    )
    await db.pool.query(
      `insert into webhook_deliveries (id, endpoint_id, webhook_id, type, subject, body)
       select 'dlv_' || substr(md5($1 || n), 1, 16), $1, 'msg_' || n, 'key.revoked', '', ''
       from generate_series(1, 25) n`,
      [id],
    )
  }
  await db.pool.query(
    `insert into erasures (id, account_id, mode, status, value_count, include_addresses, target,
       place, completed_at)
     select 'ers_' || substr(md5(n::text), 1, 16), $1, 'live', 'completed', 1, false, null, '{}', now()
     from generate_series(1, 25) n`,
    [accountId],
  )
  await db.pool.query(`
    create table seen (rows int);
    create function note_rows() returns trigger language plpgsql as $$
      begin insert into seen select count(*) from gone; return null; end $$;
    create trigger note_rows after delete on webhook_deliveries
      referencing old table as gone for each statement execute function note_rows();
    create trigger note_rows after delete on erasures
      referencing old table as gone for each statement execute function note_rows()`)
  await closeAccount(db, { actor: 'ada', accountId })
  const count = async (table: string): Promise<number> =>
    (await db.pool.query(`select from ${table}`)).rowCount ?? 0

  let reads = 0
  // Read once for the endpoint, and before each of its statements.
  const signal = {
    get aborted() {
      return ++reads > 3
    },
  } as unknown as AbortSignal
  expect(await deleteManyRows(db, accountId, { signal, atOnce: 10 })).toBe(false)
  expect(await count('webhook_deliveries')).toBe(55)
  expect(await count('webhook_endpoints')).toBe(3)
  expect(await deleteManyRows(db, accountId, { atOnce: 10 })).toBe(true)
  expect(await count('webhook_deliveries')).toBe(25)
  expect(await count('webhook_endpoints')).toBe(1)
  expect(await count('erasures')).toBe(0)
  const { rows } = await db.pool.query<{ most: number }>('select max(rows) as most from seen')
  expect(rows).toEqual([{ most: 10 }])
  expect(await eraseClosedAccounts(harness.pipeline)).toBe(1)
})

test('what a request that was under way stores after its account was erased is erased, too', async () => {
  await using harness = await openTestPipeline({ limits: { chunkRecords: 4 } })
  const { pipeline, owner } = harness
  const { db } = pipeline
  const { accountId } = owner
  await closeAccount(db, { actor: 'ada', accountId })
  expect(await eraseClosedAccounts(pipeline)).toBe(1)
  // An upload whose key was valid until its file was copied into the store, which took a while.
  await harness.submit('email\nada@a.example\n', { product: 'email', retentionDays: 365 })
  await inTransaction(db, (tx) =>
    createWebhook(tx, {
      id: newWebhookId(),
      accountId,
      url: 'https://ada.example/hook',
      events: ['batch.completed'],
      secret: 'encrypted',
      most: 1,
    }),
  )
  const left = async (): Promise<readonly number[]> => {
    await harness.workStages()
    await eraseClosedAccounts(pipeline)
    const counts = ['batches', 'webhook_endpoints'].map(
      async (table) => (await db.pool.query(`select from ${table}`)).rowCount ?? 0,
    )
    return await Promise.all(counts)
  }
  await expect.poll(left).toEqual([0, 0])
  expect(await eraseClosedAccounts(pipeline)).toBe(0)
})

test('accounts that cannot be erased yet do not block others', async () => {
  await using harness = await openTestPipeline({ limits: { chunkRecords: 4 } })
  const { pipeline, owner } = harness
  const { db } = pipeline
  const { id } = await harness.read('email\nada@a.example\n', { product: 'email' })
  await allowAnyTransition(db)
  await db.pool.query(
    `insert into accounts (id, email, plan, status, status_at)
     select 'acc_' || no, 'a@b.example', 'free', 'closed', now() - interval '1 day'
     from generate_series(1, 40) no`,
  )
  // Their last row stays, as it does while files cannot be removed.
  await db.pool.query(
    `insert into batches select (jsonb_populate_record(b, jsonb_build_object(
       'id', 'bat_' || no, 'account_id', 'acc_' || no, 'erasing', 'all', 'status', 'analyzing'))).*
     from batches b, generate_series(1, 40) no where b.id = $1`,
    [id],
  )
  await closeAccount(db, { actor: 'ada', accountId: owner.accountId })
  await db.pool.query('delete from batches where id = $1', [id])
  await expect
    .poll(
      async () => {
        await eraseClosedAccounts(pipeline)
        return (await getAccount(db, owner.accountId))?.email
      },
      { timeout: 60_000 },
    )
    .toBe('closed')
})
