import { openDatabase, type Tx } from '@plumbline/db/database'
import { expect, test } from 'vitest'
import { openLossyProxy } from '@plumbline/testkit/lossy-proxy'
import { openMeteringContext, type MeteringContext } from '@plumbline/testkit/metering'
import { PATIENT } from '@plumbline/testkit/patience'
import { auditLedger } from '@plumbline/testkit/audit-ledger'
import { auditWhenDue } from './audit.ts'
import { AuditLost, beginAudit, finishAudit, readLastAudit, takeOverAudit } from './audit-run.ts'
import { grantGoodwill } from './grant.ts'
import { hold, release, settle } from './hold.ts'

const never = new AbortController().signal

const LEDGER_OPEN = 'alter table credit_entries disable trigger append_only'

/** Damages to a ledger, each with the rules that it violates. */
const DAMAGES: readonly (readonly [what: string, damage: string, rules: readonly string[]])[] = [
  [
    'a balance that was written by hand',
    'update credit_accounts set packs = packs + 1',
    ['balance is the sum of its entries'],
  ],
  [
    'an entry that took more than there was',
    `insert into credit_entries (account_id, op_key, kind, allowance_delta, packs_delta, held_delta,
       period_no) select id, 'x', 'debit', 0, -51, 0, 0 from accounts`,
    ['no balance was ever below zero', 'balance is the sum of its entries'],
  ],
  [
    'a balance that was below zero for one entry',
    `insert into credit_entries (account_id, op_key, kind, allowance_delta, packs_delta, held_delta,
       period_no) select id, kind, kind, 0, delta, 0, 0 from accounts,
       (values (1, 'debit', -51), (2, 'goodwill', 51)) as moves (no, kind, delta) order by no`,
    ['no balance was ever below zero'],
  ],
  [
    'a hold that lost credits',
    'update credit_holds set settled = settled + 1, allowance_left = allowance_left - 1',
    ['held is what open holds have left', 'a hold adds up to its entries'],
  ],
  [
    'a give-back without a debit',
    `insert into credit_entries (account_id, op_key, kind, allowance_delta, packs_delta, held_delta,
       period_no) select id, 'x', 'refund', 0, 0, 0, 0 from accounts`,
    ['no more is refunded than was debited'],
  ],
  [
    'a cycle that was never granted',
    'update credit_accounts set period_no = 5',
    ['the cycle under way was granted'],
  ],
  [
    'a debit that waits though it is not in the ledger',
    "insert into credit_unanswered (account_id, op_key) select id, 'x' from accounts",
    ['a waiting debit is in the ledger'],
  ],
]

/** An account with a balance and an open hold. */
async function account(context: MeteringContext): Promise<string> {
  const id = await context.account()
  await grantGoodwill(context.db, id, 50, 'gift')
  await context.db.kysely
    .transaction()
    .execute((tx) => hold(tx, { accountId: id, ref: 'b', credits: 20 }))
  return id
}

/** Moves all audits back in time, as if `days` had passed since. */
async function pass(context: MeteringContext, days: number): Promise<void> {
  await context.db.pool.query(
    `update ledger_audits set started_at = started_at - make_interval(days => $1),
      finished_at = finished_at - make_interval(days => $1)`,
    [days],
  )
}

test.for(DAMAGES)('a full audit finds %s', async ([, damage, rules]) => {
  await using context = await openMeteringContext()
  const id = await account(context)
  expect(await auditLedger(context.db)).toEqual([])
  await context.db.pool.query(damage)
  const faults = await auditLedger(context.db)
  expect(faults.map((fault) => fault.rule)).toEqual(rules)
  expect(faults.every((fault) => fault.accountId === id)).toBe(true)
})

test.for(DAMAGES)('the audit of the next day finds %s', async ([, damage, rules]) => {
  await using context = await openMeteringContext()
  await account(context)
  expect(await auditWhenDue(context.db, never)).toMatchObject({ whole: true, faultCount: 0 })
  await context.db.pool.query(damage)
  await pass(context, 1)
  const result = await auditWhenDue(context.db, never)
  expect(result).toMatchObject({ whole: false, faultCount: rules.length })
  expect(result?.examples.map((fault) => fault.rule)).toEqual(rules)
})

test('a missing entry is found the next day, and one that was audited before by the full audit', async () => {
  await using context = await openMeteringContext()
  const id = await account(context)
  const rules = ['balance is the sum of its entries']
  await auditWhenDue(context.db, never)
  await grantGoodwill(context.db, id, 7, 'late')
  await context.db.pool.query(LEDGER_OPEN)
  await context.db.pool.query("delete from credit_entries where op_key = 'late'")
  await pass(context, 1)
  const next = await auditWhenDue(context.db, never)
  expect(next?.examples.map(({ rule }) => rule)).toEqual(rules)
  await context.db.pool.query('update credit_accounts set packs = packs - 7')
  expect(await auditLedger(context.db)).toEqual([])
  await context.db.pool.query("delete from credit_entries where op_key = 'gift'")
  await pass(context, 1)
  expect(await auditWhenDue(context.db, never)).toMatchObject({ whole: false, faultCount: 0 })
  await pass(context, 31)
  const whole = await auditWhenDue(context.db, never)
  expect(whole).toMatchObject({ whole: true })
  expect(whole?.examples.map(({ rule }) => rule)).toContain(rules[0])
})

test('an audit is due once a day, continues after the last audited entry, and is full once a month', async () => {
  await using context = await openMeteringContext()
  const id = await account(context)
  const first = await auditWhenDue(context.db, never)
  expect(first).toMatchObject({ whole: true, entryCount: 3 })
  expect(await auditWhenDue(context.db, never)).toBeUndefined()
  await grantGoodwill(context.db, id, 5, 'more')
  await pass(context, 1)
  const second = await auditWhenDue(context.db, never)
  expect(second).toMatchObject({ whole: false, entryCount: 1, faultCount: 0 })
  await pass(context, 31)
  expect(await auditWhenDue(context.db, never)).toMatchObject({ whole: true, entryCount: 4 })
})

test('the first entry of the ledger is not skipped by an audit before it', async () => {
  await using context = await openMeteringContext()
  expect(await auditWhenDue(context.db, never)).toMatchObject({ faultCount: 0 })
  await account(context)
  await pass(context, 1)
  expect((await auditWhenDue(context.db, never))?.examples).toEqual([])
})

test('a fault of an entry is reported until a full audit no longer finds it', async () => {
  await using context = await openMeteringContext()
  await account(context)
  await auditWhenDue(context.db, never)
  await context.db.pool.query(DAMAGES[2]?.[1] ?? '')
  for (let day = 0; day < 2; day++) {
    await pass(context, 1)
    expect(await auditWhenDue(context.db, never)).toMatchObject({ whole: false, faultCount: 1 })
  }
  await context.db.pool.query(LEDGER_OPEN)
  await context.db.pool.query("delete from credit_entries where op_key in ('debit', 'goodwill')")
  expect(await auditLedger(context.db)).toEqual([])
  expect(await readLastAudit(context.db)).toMatchObject({ whole: true, faultCount: 0 })
})

test('damaged sums are rebuilt by a full audit the day after', async () => {
  await using context = await openMeteringContext()
  await account(context)
  await auditWhenDue(context.db, never)
  await context.db.pool.query('update ledger_account_sums set packs = packs + 1')
  await pass(context, 1)
  expect(await auditWhenDue(context.db, never)).toMatchObject({ whole: false, faultCount: 1 })
  await pass(context, 1)
  expect(await auditWhenDue(context.db, never)).toMatchObject({ whole: true, faultCount: 0 })
})

test('an entry whose transaction ends after one with a higher number is not skipped', async () => {
  await using context = await openMeteringContext()
  const id = await account(context)
  await auditWhenDue(context.db, never)
  await pass(context, 1)
  const late = await context.db.pool.connect()
  await late.query('begin')
  await late.query(`select credit_settle($1, 'b', 'b:1', 3)`, [id])
  await grantGoodwill(context.db, id, 5, 'after')
  const audit = auditWhenDue(context.db, never)
  // The transaction may end only once the audit waits for it.
  await expect
    .poll(async () => (await context.db.pool.query('select from ledger_audits')).rowCount)
    .toBe(2)
  await late.query('commit')
  late.release()
  expect(await audit).toMatchObject({ entryCount: 2, faultCount: 0 })
  await pass(context, 1)
  expect(await auditWhenDue(context.db, never)).toMatchObject({ entryCount: 0, faultCount: 0 })
})

test('a hold that is closed while an audit sums its other entries is no violation', async () => {
  await using context = await openMeteringContext()
  const { db } = context
  const id = await account(context)
  const other = await account(context)
  await auditWhenDue(db, never)
  await pass(context, 1)
  const all = { accountId: id, ref: 'b', opKey: 'b:1', credits: 20 }
  await db.kysely.transaction().execute((tx) => settle(tx, all))
  const late = await db.pool.connect()
  await late.query('begin')
  await late.query(`select credit_settle($1, 'b', 'b:1', 3)`, [other])
  const audit = auditWhenDue(db, never)
  // By then the audit has chosen the last entry to sum.
  await expect
    .poll(async () => {
      const { rowCount } = await db.pool.query(
        `select from pg_stat_activity where datname = current_database()
           and query like '%virtualtransaction as writer%' and pid <> pg_backend_pid()`,
      )
      return rowCount
    }, PATIENT)
    .toBeGreaterThan(0)
  await db.kysely
    .transaction()
    .execute((tx) => release(tx, { accountId: id, ref: 'b', opKey: 'b:release' }))
  await late.query('commit')
  late.release()
  expect(await audit).toMatchObject({ faultCount: 0 })
  await pass(context, 1)
  expect(await auditWhenDue(db, never)).toMatchObject({ faultCount: 0 })
})

test('of many concurrent processes one audits', async () => {
  await using context = await openMeteringContext()
  await account(context)
  const results = await Promise.all(
    Array.from({ length: 8 }, () => auditWhenDue(context.db, never)),
  )
  expect(results.filter((result) => result !== undefined)).toHaveLength(1)
})

test('a process that looked before another one began and ended an audit begins none', async () => {
  await using context = await openMeteringContext()
  await account(context)
  const other = await context.db.pool.connect()
  await other.query('begin')
  await other.query('insert into ledger_audits (whole, lease_until) values (true, now())')
  const late = beginAudit(context.db)
  // By then it has read the last audit, and waits for the other process.
  await expect
    .poll(async () => {
      const { rowCount } = await context.db.pool.query(
        `select from pg_stat_activity where datname = current_database()
           and wait_event_type = 'Lock' and query like '%insert into ledger_audits%'`,
      )
      return rowCount
    }, PATIENT)
    .toBe(1)
  await other.query('update ledger_audits set finished_at = clock_timestamp()')
  await other.query('commit')
  other.release()
  expect(await late).toBeUndefined()
})

test('an interrupted audit is continued by another process at once, where it stopped', async () => {
  await using context = await openMeteringContext()
  await account(context)
  await expect(auditWhenDue(context.db, AbortSignal.abort())).rejects.toThrow('abort')
  expect(await readLastAudit(context.db)).toBeUndefined()
  expect(await auditWhenDue(context.db, never)).toMatchObject({ id: 1, entryCount: 3 })
})

test('an audit whose connection broke blocks no other, and is continued where it stopped', async () => {
  await using context = await openMeteringContext()
  await account(context)
  await using proxy = await openLossyProxy(context.url)
  await using db = openDatabase({ url: proxy.url, poolSize: 3, applicationName: 'test' })
  // Its step is committed, but the reply is lost.
  proxy.loseNextReply('commit')
  await expect(auditWhenDue(db, never)).rejects.toThrow(/terminat|ECONNRESET/)
  expect(proxy.lostCount()).toBe(1)
  expect(await auditWhenDue(context.db, never)).toMatchObject({ id: 1, entryCount: 3 })
})

test('a full audit first completes an abandoned one', async () => {
  await using context = await openMeteringContext()
  const id = await account(context)
  await beginAudit(context.db)
  await context.db.pool.query('update ledger_audits set lease_until = clock_timestamp()')
  expect(await auditLedger(context.db)).toEqual([])
  await context.db.pool.query('update credit_accounts set packs = packs + 1')
  expect(await auditLedger(context.db)).toMatchObject([{ accountId: id }])
  const { rows } = await context.db.pool.query(
    'select finished_at is null as open from ledger_audits',
  )
  expect(rows).toEqual([{ open: false }, { open: false }, { open: false }])
})

test('a process that lost an audit writes no more results', async () => {
  await using context = await openMeteringContext()
  const lost = await beginAudit(context.db)
  if (lost === undefined) throw new Error('no audit was due')
  expect(await takeOverAudit(context.db)).toBeUndefined()
  await context.db.pool.query("update ledger_audits set lease_until = now() - interval '1 second'")
  const taken = await takeOverAudit(context.db)
  expect(taken).toMatchObject({ id: lost.id, lease: lost.lease + 1 })
  const none = { count: 0, examples: [] }
  await expect(finishAudit(context.db, lost, none)).rejects.toThrow(AuditLost)
  expect(await readLastAudit(context.db)).toBeUndefined()
})

test('an audit from before the clock was set back delays no other', async () => {
  await using context = await openMeteringContext()
  await account(context)
  const lost = await beginAudit(context.db)
  await context.db.pool.query("update ledger_audits set lease_until = now() + interval '2 days'")
  expect(await takeOverAudit(context.db)).toMatchObject({ id: lost?.id })
  await context.db.pool.query('update ledger_audits set lease_until = now()')
  expect(await auditWhenDue(context.db, never)).toMatchObject({ id: lost?.id })
  expect(await beginAudit(context.db)).toBeUndefined()
  await pass(context, -2)
  expect(await beginAudit(context.db)).toBeDefined()
})

test('audits concurrent with all moves of credits find no violations', async () => {
  await using context = await openMeteringContext(20)
  const { db, metering } = context
  const ids = [await account(context), await account(context)]
  const ended = new AbortController()
  const atomic = <T>(move: (tx: Tx) => Promise<T>): Promise<T> =>
    db.kysely.transaction().execute(move)
  const move = async (accountId: string, no: number): Promise<void> => {
    const opKey = `op-${no}`
    const debit = await metering.debit({ accountId, opKey, credits: 1 })
    if (debit.granted && no % 3 === 0) await metering.refund({ accountId, opKey, reason: 'x' })
    else if (debit.granted) await metering.finalize({ accountId, opKey, giveBack: 0 })
    const ref = `hold-${no}`
    const held = await atomic((tx) => hold(tx, { accountId, ref, credits: 4 }))
    if (!held.granted) return
    await atomic((tx) => settle(tx, { accountId, ref, opKey: `${ref}:1`, credits: 2 }))
    await atomic((tx) => release(tx, { accountId, ref, opKey: `${ref}:release` }))
  }
  const moves = Promise.all(
    ids.map(async (accountId, at) => {
      for (let no = 0; no < 60; no++) await move(accountId, at * 1_000 + no)
    }),
  ).finally(() => ended.abort())
  const results: unknown[] = []
  while (!ended.signal.aborted) {
    results.push((await auditWhenDue(db, never))?.examples)
    await pass(context, 1)
  }
  await moves
  expect(results.flat()).toEqual([])
  expect(await auditLedger(db)).toEqual([])
  const { rows } = await db.pool.query('select ref from ledger_hold_sums')
  expect(rows.map((row: { ref: string }) => row.ref)).toEqual(['b', 'b'])
})
