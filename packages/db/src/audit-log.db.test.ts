import { openTestDatabase } from '@plumbline/testkit/database'
import { expect, test } from 'vitest'
import { listAudit, writeAudit, type AuditedAct } from './audit-log.ts'
import { inTransaction } from './database.ts'

const ACT: AuditedAct = {
  actor: 'ada',
  action: 'account.plan',
  accountId: 'acc_1',
  before: { plan: 'free' },
  after: { plan: 'pro' },
}

test('an act is listed with who, when, what, before and after, newest first', async () => {
  await using db = await openTestDatabase(4)
  const start = Date.now()
  await inTransaction(db, (tx) => writeAudit(tx, ACT))
  await inTransaction(db, (tx) =>
    writeAudit(tx, { ...ACT, accountId: 'acc_2', action: 'key.revoke', after: null }),
  )
  const all = await listAudit(db, { accountId: undefined, limit: 10 })
  expect(all).toMatchObject([{ accountId: 'acc_2', action: 'key.revoke', after: null }, ACT])
  expect(all[1]?.actedAt.getTime()).toBeGreaterThan(start - 60_000)
  expect(await listAudit(db, { accountId: 'acc_1', limit: 10 })).toMatchObject([ACT])
  expect(await listAudit(db, { accountId: undefined, limit: 1 })).toHaveLength(1)
})

test('an act that is rolled back leaves no entry', async () => {
  await using db = await openTestDatabase(4)
  const failing = inTransaction(db, async (tx) => {
    await writeAudit(tx, ACT)
    throw new Error('no')
  })
  await expect(failing).rejects.toThrow('no')
  expect(await listAudit(db, { accountId: undefined, limit: 10 })).toEqual([])
})

test.each([
  "update audit_log set actor = 'x'",
  'delete from audit_log',
  'delete from audit_log where false',
  'truncate audit_log',
])('no role can change or remove a row: %s', async (statement) => {
  await using db = await openTestDatabase(4)
  await inTransaction(db, (tx) => writeAudit(tx, ACT))
  await expect(db.pool.query(statement)).rejects.toThrow('append-only')
  expect(await listAudit(db, { accountId: undefined, limit: 10 })).toMatchObject([ACT])
})

test('a role that may only read and append can do nothing else', async () => {
  await using db = await openTestDatabase(4)
  const client = await db.pool.connect()
  try {
    // Rolled back, as roles belong to the server and not to the database.
    await client.query('begin')
    await client.query('create role audit_log_test')
    await client.query('grant select, insert on audit_log to audit_log_test')
    await client.query('set local role audit_log_test')
    await client.query(
      "insert into audit_log (actor, action, account_id) values ('ada', 'key.create', 'acc_1')",
    )
    await client.query('savepoint before')
    for (const statement of [
      "update audit_log set actor = 'x'",
      'delete from audit_log',
      'truncate audit_log',
      'alter table audit_log disable trigger append_only',
    ]) {
      await expect(client.query(statement)).rejects.toThrow(/permission denied|must be owner/)
      await client.query('rollback to savepoint before')
    }
  } finally {
    await client.query('rollback')
    client.release()
  }
})
