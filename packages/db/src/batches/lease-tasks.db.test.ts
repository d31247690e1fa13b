import { CHECKS, type Check } from '@plumbline/contract/products'
import { allowAnyTransition } from '@plumbline/testkit/any-transition'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import type { Db } from '../database.ts'
import { holdDuty } from '../duties.ts'
import { newTimedId } from '../ids.ts'
import { rowsRead } from '../rows-read-fixture.ts'
import { emptyOpenGroups } from './groups.ts'
import {
  leaseStatement,
  leaseTasks,
  type LeasedTask,
  type LeasePart,
  type LostTask,
} from './lease-tasks.ts'
import { storeTaskOutcomes } from './settle.ts'
import { add, idsOf, lease, openTwoAccounts } from './tasks-fixture.ts'

/** The rows of a part of the statement, with `slots` for every check. */
async function run(
  db: Db,
  part: LeasePart,
  { slots = 2, reserve = 1, holder = '', served = '', waitingFirst = false, keepLost = false } = {},
): Promise<readonly Record<string, unknown>[]> {
  const values = [
    CHECKS,
    CHECKS.map(() => slots),
    CHECKS.map(() => reserve),
    60_000,
    ['phone'],
    holder === '' ? null : holder,
    CHECKS.map(() => served),
    true,
    waitingFirst,
    keepLost,
  ]
  return (await db.pool.query<Record<string, unknown>>(leaseStatement(part), values)).rows
}

test('turn: only the holder of the duty leases, and only until its term ends', async () => {
  await using place = await openTwoAccounts()
  await add(place.db)
  expect(await run(place.db, 'leased', { holder: 'one' })).toEqual([])
  expect(await holdDuty(place.db, 'dispatch', 'one', 60_000)).toBe(true)
  expect(await holdDuty(place.db, 'dispatch', 'other', 60_000)).toBe(false)
  expect(await run(place.db, 'leased', { holder: 'other' })).toEqual([])
  expect(await run(place.db, 'leased', { holder: 'one' })).toHaveLength(1)
  await place.db.pool.query(`update duties set held_until = now() - interval '1 ms'`)
  await add(place.db)
  expect(await run(place.db, 'leased', { holder: 'one' })).toEqual([])
  expect(await holdDuty(place.db, 'dispatch', 'other', 60_000)).toBe(true)
  expect(await run(place.db, 'leased', { holder: 'other' })).toHaveLength(1)
})

test('lost: an expired lease is taken back, with a bounded delay from the second attempt on', async () => {
  await using place = await openTwoAccounts()
  const [first, third, sixtieth, held] = [
    await add(place.db),
    await add(place.db, { attempts: 3 }),
    await add(place.db, { attempts: 60 }),
    await add(place.db),
  ]
  for (const [id, minutes] of [
    [first, -1],
    [third, -1],
    [sixtieth, -1],
    [held, 1],
  ] as const)
    await lease(place.db, id, minutes)
  expect(await run(place.db, 'lost', { keepLost: true })).toEqual([])
  expect(idsOf(await run(place.db, 'lost')).toSorted()).toEqual([first, third, sixtieth].toSorted())
  const { rows } = await place.db.pool.query(
    `select id, due_at > now() + interval '59 s' as rests, due_at > now() + interval '2 h' as "tooLong"
     from tasks where lease_until is null order by id`,
  )
  expect(rows).toEqual([
    { id: first, rests: null, tooLong: null },
    { id: third, rests: true, tooLong: false },
    { id: sixtieth, rests: true, tooLong: false },
  ])
})

test('woken: tasks whose delay is over are ready, others are not', async () => {
  await using place = await openTwoAccounts()
  const due = await add(place.db, { due: -1 })
  await add(place.db, { due: 5 })
  expect(idsOf(await run(place.db, 'woken'))).toEqual([due])
  expect(idsOf(await run(place.db, 'fresh'))).toEqual([due])
})

test('busy and kinds: leased tasks count against the slots of their check, also long after their expiry', async () => {
  await using place = await openTwoAccounts()
  const unclaimed = await add(place.db)
  await lease(place.db, unclaimed, -1)
  await place.db.pool.query('update tasks set claimed = false')
  await add(place.db)
  expect(await run(place.db, 'busy')).toMatchObject([
    { check_kind: 'email', account_id: 'a', n: 1 },
  ])
  const kinds = await run(place.db, 'kinds')
  expect(kinds.find(({ check_kind }) => check_kind === 'email')).toMatchObject({ free: 1, room: 2 })
  expect(kinds.filter(({ free: slots }) => slots === 2)).toHaveLength(CHECKS.length - 1)
})

test('busy: a lost claim keeps its slot for one more round, in which its task is reported', async () => {
  await using place = await openTwoAccounts()
  const { db } = place
  const task = await add(db)
  await lease(db, task, -1)
  await add(db, { account: 'b' })
  const round = async (): Promise<{ leased: number; lost: readonly LostTask[] }> => {
    let lost: readonly LostTask[] = []
    const leased = await leaseTasks(db, {
      slots: { email: 1, phone: 0, ip: 0, domain: 0 },
      reserve: 0,
      leaseMs: 60_000,
      onLost(tasks) {
        lost = tasks
      },
    })
    return { leased: leased.length, lost }
  }
  const { rows } = await db.pool.query(
    `select id as "taskId", lease, batch_id as "batchId", check_kind as "check" from tasks where id = ${task}`,
  )
  expect(await round()).toEqual({ leased: 0, lost: rows })
  expect(await round()).toEqual({ leased: 1, lost: [] })
})

test('fresh: ready tasks; of a canceled batch only those for which something may have been bought, of a paused one none', async () => {
  await using place = await openTwoAccounts()
  const { db } = place
  const [email, bought] = [await add(db), await add(db, { check: 'phone' })]
  await add(db, { due: 5 })
  await add(db, { group: 'mx:a', due: 0 })
  expect(idsOf(await run(db, 'fresh')).toSorted()).toEqual([email, bought])
  await db.pool.query(`update tasks set lease = 1 where id = ${bought}`)
  await add(db, { check: 'phone' })
  await db.pool.query(`update batches set status = 'canceling'`)
  expect(idsOf(await run(db, 'fresh'))).toEqual([bought])
  await allowAnyTransition(db)
  await db.pool.query(`update batches set status = 'paused'`)
  expect(idsOf(await run(db, 'fresh'))).toEqual([])
})

test('waiting and quieted: one due task of a group with capacity, of the account after the one served last', async () => {
  await using place = await openTwoAccounts()
  const { db } = place
  const ofA = await add(db, { group: 'mx:a', due: -1 })
  const ofB = await add(db, { group: 'mx:a', due: -1, account: 'b' })
  await add(db, { group: 'mx:full', due: -1 })
  await add(db, { group: 'mx:later', due: 3 })
  await db.pool.query(`insert into task_groups (check_kind, group_key, next_at)
    values ('email', 'mx:a', now()), ('email', 'mx:full', now() + interval '1 min'),
      ('email', 'mx:later', now())`)
  expect(idsOf(await run(db, 'waiting'))).toEqual([ofA])
  expect(await run(db, 'quieted')).toEqual([{ group_key: 'mx:later' }])
  await db.pool.query(`update task_groups set last_account_id = 'a'`)
  expect(idsOf(await run(db, 'waiting'))).toEqual([ofB])
  await lease(db, ofB, 1)
  await db.pool.query(`update task_groups set out_task = ${ofB}`)
  expect(idsOf(await run(db, 'waiting'))).toEqual([])
})

test('resting: accounts for which no work is begun', async () => {
  await using place = await openTwoAccounts()
  expect(await run(place.db, 'resting')).toEqual([])
  await place.db.pool.query(`update accounts set status = 'suspended' where id = 'b'`)
  expect(idsOf(await run(place.db, 'resting'))).toEqual(['b'])
})

test('accounts: those with ready tasks of a check with free slots, the one after the account served last first', async () => {
  await using place = await openTwoAccounts()
  const { db } = place
  const met = async (options = {}): Promise<unknown[]> =>
    (await run(db, 'accounts', options)).map((row) => [row['account_id'], row['free'], row['n']])
  await add(db, { due: 5 })
  await add(db, { group: 'mx:a', due: -1, account: 'b' })
  expect(await met()).toEqual([])
  const ids = [await add(db), await add(db, { account: 'b' })]
  expect(await met({ slots: 4 })).toEqual([
    ['a', 4, 2],
    ['b', 4, 2],
  ])
  // With one slot, one account without a lease is enough: the one after the account served last.
  expect(await met({ slots: 1, reserve: 0, served: 'a' })).toEqual([['b', 1, 1]])
  await db.pool.query(`update accounts set status = 'suspended' where id = 'b'`)
  expect(await met({ slots: 4 })).toEqual([['a', 4, 1]])
  await lease(db, ids[0] ?? 0, 1)
  expect(await met({ slots: 4 })).toEqual([])
})

test.each([
  { isBought: false, found: ['acc_1', 'acc_6', 'acc_7'] },
  // Of the suspended accounts 3 and 5, the first has a canceled batch.
  { isBought: true, found: ['acc_1', 'acc_3', 'acc_6', 'acc_7'] },
])(
  'accounts_in_turn passes over accounts without a batch to dispatch from (purchased: $isBought)',
  async ({ isBought, found }) => {
    await using place = await openTwoAccounts()
    const { db } = place
    await allowAnyTransition(db)
    await db.pool.query(`
      insert into accounts (id, email, plan)
      select 'acc_' || no, no || '@b.example', 'pro' from generate_series(0, 9) no;
      insert into batches (id, account_id, mode, product, status, explain, charge_unknown, auto_start,
        retention_days, requested, source_key, file_bytes, ats)
      select 'bat_' || id, id, 'live', 'email', 'analyzing', false, true, true, 30, '{}', 'u', 1, '{}'
      from accounts where id like 'acc%';
      update batches b set status = s.status
      from unnest(array['paused', 'running', 'paused', 'canceling', 'running', 'running', 'running', 'running',
        'paused', 'paused']) with ordinality s(status, no)
      where b.id = 'bat_acc_' || s.no - 1;
      update accounts set status = 'suspended' where id in ('acc_3', 'acc_5');
      -- Account 4 has no ready task.
      insert into tasks (batch_id, account_id, mode, check_kind, depth, chunk_no, size)
      select id, account_id, 'live', 'phone', 'full', 0, 1 from batches
      where account_id like 'acc%' and account_id <> 'acc_4'`)
    for (let after = 0; after < 10; after += 1) {
      const { rows } = await db.pool.query<{ account: string }>(
        `select account from accounts_in_turn('phone', $1, $2, 100, '{}', 100) order by place`,
        [`acc_${after}`, isBought],
      )
      const later = found.filter((id) => id > `acc_${after}`)
      const others = found.filter((id) => id <= `acc_${after}`)
      expect(rows.map(({ account }) => account)).toEqual([...later, ...others])
    }
  },
)

test('small: none of a suspended account; waiting: none of a paused batch', async () => {
  await using place = await openTwoAccounts()
  const { db } = place
  const [ofA, ofB] = [await add(db), await add(db, { account: 'b' })]
  const small = async () => {
    const { rows } = await db.pool.query<{ id: number }>(
      `select task as id from small_tasks('email', 9, array[]::text[])`,
    )
    return idsOf(rows).toSorted()
  }
  expect(await small()).toEqual([ofA, ofB])
  await db.pool.query(`update accounts set status = 'suspended' where id = 'a'`)
  expect(await small()).toEqual([ofB])
  const waiting = await add(db, { account: 'b', group: 'mx:a', due: -1 })
  await db.pool.query(`
    insert into task_groups (check_kind, group_key, next_at) values ('email', 'mx:a', now())`)
  expect(idsOf(await run(db, 'waiting'))).toEqual([waiting])
  await db.pool.query(`update batches set status = 'paused' where account_id = 'b'`)
  expect(await run(db, 'waiting')).toEqual([])
})

test('fresh: of a suspended account only what was bought for a canceled batch', async () => {
  await using place = await openTwoAccounts()
  const { db } = place
  await db.pool.query(`
    insert into batches (id, account_id, mode, product, status, explain, charge_unknown, auto_start,
      retention_days, requested, source_key, file_bytes, ats)
    values ('bat_c', 'a', 'live', 'phone', 'analyzing', false, true, true, 30, '{}', 'u', 1, '{}');
    update batches set status = 'running' where id = 'bat_c';
    update batches set status = 'canceling' where id = 'bat_c'`)
  const [canceled, running] = [await add(db, { check: 'phone' }), await add(db, { check: 'phone' })]
  await db.pool.query(`update tasks set batch_id = 'bat_c', lease = 1 where id = $1`, [canceled])
  const fresh = async () => idsOf(await run(db, 'fresh')).toSorted()
  expect(await fresh()).toEqual([canceled, running])
  await db.pool.query(`update accounts set status = 'suspended' where id = 'a'`)
  expect(await fresh()).toEqual([canceled])
})

test('suspended accounts take no slot of a purchased check, however many they are', async () => {
  await using place = await openTwoAccounts()
  const { db } = place
  await db.pool.query(`
    insert into accounts (id, email, plan, status)
    select 'acc_' || no, no || '@b.example', 'pro', 'suspended' from generate_series(10, 29) no;
    insert into batches (id, account_id, mode, product, status, explain, charge_unknown, auto_start,
      retention_days, requested, source_key, file_bytes, ats)
    select 'bat_' || id, id, 'live', 'phone', 'analyzing', false, true, true, 30, '{}', 'u', 1, '{}'
    from accounts where id like 'acc%';
    update batches set status = 'running' where id like 'bat_acc%';
    insert into tasks (batch_id, account_id, mode, check_kind, depth, chunk_no, size)
    select id, account_id, 'live', 'phone', 'full', no, 1 from batches, generate_series(1, 3) no
    where id like 'bat_acc%'`)
  for (let chunk = 0; chunk < 8; chunk += 1) await add(db, { check: 'phone', account: 'b', chunk })
  const slots = { email: 0, phone: 8, ip: 0, domain: 0 }
  // The account served last is before all suspended ones.
  const served = new Map([['phone', 'a']] as const)
  const leased = await leaseTasks(db, { slots, reserve: 0, leaseMs: 60_000, served })
  expect(leased.map(({ accountId }) => accountId)).toEqual(Array.from({ length: 8 }, () => 'b'))
})

test('awake: due groups, those due longest first, until two have a task', async () => {
  await using place = await openTwoAccounts()
  const { db } = place
  const out = await add(db)
  await lease(db, out, 1)
  const [fresh, newest] = [
    await add(db, { group: 'mx:new', due: -1 }),
    await add(db, { group: 'mx:newest', due: -1 }),
  ]
  await add(db, { group: 'mx:last', due: -1 })
  await db.pool
    .query(`insert into task_groups (check_kind, group_key, next_at, quiet_until, opened, out_task)
    values ('email', 'mx:new', now() - interval '1 min', '-infinity', false, null),
      ('email', 'mx:old', now() - interval '2 min', '-infinity', false, ${out}),
      ('email', 'mx:empty', now() - interval '1 min 1 s', '-infinity', false, null),
      ('email', 'mx:newest', now() - interval '1 s', '-infinity', false, null),
      ('email', 'mx:last', now() - interval '0.5 s', '-infinity', false, null),
      ('email', 'mx:quiet', now() - interval '3 min', now() + interval '1 min', false, null),
      ('email', 'mx:later', now() + interval '1 min', '-infinity', false, null),
      ('email', 'mx:open', now() - interval '4 min', '-infinity', true, null)`)
  expect(await run(db, 'awake')).toMatchObject([
    { group_key: 'mx:old', is_out: true, task: null },
    { group_key: 'mx:empty', is_out: false, task: null },
    { group_key: 'mx:new', is_out: false, task: fresh },
    { group_key: 'mx:newest', is_out: false, task: newest },
  ])
})

test('thousands of groups whose tasks are gone or belong to a suspended account are soon skipped', async () => {
  await using place = await openTwoAccounts()
  const { db } = place
  await db.pool.query(`
    insert into task_groups (check_kind, group_key, next_at)
    select 'email', 'mx:' || no, now() - interval '1 h' from generate_series(1, 1000) no;
    insert into tasks (batch_id, account_id, mode, check_kind, depth, chunk_no, size, group_key, due_at)
    select 'bat_b', 'b', 'live', 'email', 'full', 0, 1, 'mx:' || no, now() from generate_series(1, 500) no;
    update accounts set status = 'suspended' where id = 'b';
    insert into task_groups (check_kind, group_key, next_at) values ('email', 'mx:a', now())`)
  const ofA = await add(db, { group: 'mx:a', due: -1 })
  let leased: readonly LeasedTask[] = []
  for (let round = 0; round < 20 && leased.length === 0; round++) {
    leased = await leaseTasks(db, { slots: SLOTS, reserve: 0, leaseMs: 60_000 })
  }
  expect(leased.map(({ taskId }) => taskId)).toEqual([ofA])
})

test('while one account has all slots, another has the reserve for its waiting task, also behind groups of the first', async () => {
  await using place = await openTwoAccounts()
  const { db } = place
  for (const group of ['mx:1', 'mx:2', 'mx:3', 'mx:shared']) await add(db, { group, due: -2 })
  const ofB = await add(db, { group: 'mx:shared', due: -1, account: 'b' })
  for (const chunk of [1, 2, 3]) await add(db, { chunk })
  await lease(db, await add(db), 1)
  await lease(db, await add(db), 1)
  await db.pool.query(`insert into task_groups (check_kind, group_key, next_at)
    select 'email', key, now() - interval '1 min' from unnest('{mx:1,mx:2,mx:3,mx:shared}'::text[]) key`)
  expect(idsOf(await run(db, 'chosen', { slots: 2, reserve: 1 }))).toEqual([ofB])
})

test('of one account ready and waiting tasks come first alternately', async () => {
  await using place = await openTwoAccounts()
  const { db } = place
  const ready = await add(db)
  const waiting = await add(db, { group: 'mx:a', due: -1 })
  await db.pool.query(
    `insert into task_groups (check_kind, group_key, next_at) values ('email', 'mx:a', now())`,
  )
  const one = { slots: 1, reserve: 0 }
  expect(idsOf(await run(db, 'chosen', one))).toEqual([ready])
  expect(idsOf(await run(db, 'chosen', { ...one, waitingFirst: true }))).toEqual([waiting])
})

test('placed and chosen: accounts take turns, and one without leased tasks may use the reserve', async () => {
  await using place = await openTwoAccounts()
  const { db } = place
  const [first, second] = [await add(db, { chunk: 0 }), await add(db, { chunk: 1 })]
  const other = await add(db, { account: 'b' })
  const placed = await run(db, 'placed')
  const place1 = placed.filter(({ place: position }) => Number(position) === 1)
  expect(idsOf(place1).toSorted()).toEqual([first, other])
  expect(idsOf(await run(db, 'chosen', { slots: 2 })).toSorted()).toEqual([first, other])
  expect(idsOf(await run(db, 'chosen', { slots: 1, reserve: 0, served: 'a' }))).toEqual([other])
  await lease(db, first, 1)
  expect(idsOf(await run(db, 'chosen', { slots: 1, reserve: 1 }))).toEqual([other])
  expect(idsOf(await run(db, 'chosen', { slots: 1, reserve: 0 }))).toEqual([])
  expect(idsOf(await run(db, 'chosen', { slots: 3 })).toSorted()).toEqual([second, other])
})

test('half of the reserve is kept for small tasks, also behind many accounts with large ones', async () => {
  await using place = await openTwoAccounts()
  const { db } = place
  await db.pool.query(`
    insert into accounts (id, email, plan)
    select 'c' || no, no || '@c.example', 'pro' from generate_series(100, 160) no;
    insert into batches (id, account_id, mode, product, status, explain, charge_unknown, auto_start,
      retention_days, requested, source_key, file_bytes, ats)
    select 'bat_' || id, id, 'live', 'email', 'analyzing', false, true, true, 30, '{}', 'u', 1, '{}'
    from accounts where id like 'c1%';
    update batches set status = 'running' where account_id like 'c1%';
    insert into tasks (batch_id, account_id, mode, check_kind, depth, chunk_no, size)
    select id, account_id, 'live', 'email', 'full', no, 1000 from batches, generate_series(0, 9) no
    where account_id like 'c1%'`)
  const options = { slots: { ...SLOTS, email: 8 }, reserve: 4, leaseMs: 60_000 }
  for (const count of [8, 1, 1, 0]) {
    expect(await leaseTasks(db, options)).toHaveLength(count)
  }
  const small = [await add(db), await add(db, { account: 'b' })]
  const leased = await leaseTasks(db, options)
  expect(leased.map(({ taskId }) => taskId).toSorted()).toEqual(small.toSorted())
  await add(db)
  expect(await leaseTasks(db, options)).toEqual([])
})

test('accounts whose batches are all paused delay no other account, however many they are', async () => {
  await using place = await openTwoAccounts()
  const { db } = place
  await allowAnyTransition(db)
  await db.pool.query(`
    insert into accounts (id, email, plan)
    select 'b' || no, no || '@b.example', 'pro' from generate_series(100, 160) no;
    insert into batches (id, account_id, mode, product, status, explain, charge_unknown, auto_start,
      retention_days, requested, source_key, file_bytes, ats)
    select 'bat_' || id, id, 'live', 'email', 'analyzing', false, true, true, 30, '{}', 'u', 1, '{}'
    from accounts where id like 'b1%';
    update batches set status = 'paused' where account_id like 'b1%';
    insert into tasks (batch_id, account_id, mode, check_kind, depth, chunk_no, size)
    select id, account_id, 'live', 'email', 'full', 0, 1 from batches`)
  const slots = { email: 1, phone: 0, ip: 0, domain: 0 }
  const served = new Map<Check, string>([['email', 'b']])
  expect(await leaseTasks(db, { slots, reserve: 0, leaseMs: 1, served })).toMatchObject([
    { accountId: 'a' },
  ])
})

test('small tasks of a paused batch are passed over in one step, however many they are', async () => {
  await using place = await openTwoAccounts()
  const { db } = place
  await allowAnyTransition(db)
  await db.pool.query(`
    insert into batches (id, account_id, mode, product, status, explain, charge_unknown, auto_start,
      retention_days, requested, source_key, file_bytes, ats)
    values ('bat_0', 'a', 'live', 'email', 'analyzing', false, true, true, 30, '{}', 'u', 1, '{}');
    update batches set status = 'paused' where id = 'bat_0';
    insert into tasks (batch_id, account_id, mode, check_kind, depth, chunk_no, size)
    select 'bat_0', 'a', 'live', 'email', 'full', no, 1 from generate_series(1, 5000) no`)
  const small = [await add(db), await add(db, { account: 'b' })]
  await db.kysely.transaction().execute(async (tx) => {
    const { rows } = await sql<{ id: number }>`
      select task as id from small_tasks('email', 4, '{}')`.execute(tx)
    expect(idsOf(rows).toSorted()).toEqual(small)
    expect(await rowsRead(tx, 'tasks')).toBeLessThan(50)
  })
})

test.each(['over a month', 'at once, behind one of a year before'])(
  "each of an account's batches has its turn, created %s",
  async (how) => {
    await using place = await openTwoAccounts()
    const { db } = place
    const nowMs = Date.UTC(2026, 10, 23)
    const stepMs = how === 'over a month' ? 3 * 3_600_000 : 100
    const ids = Array.from({ length: 240 }, (_, at) => newTimedId('bat', nowMs + at * stepMs))
    if (how !== 'over a month') ids[0] = newTimedId('bat', nowMs - 365 * 86_400_000)
    await db.pool.query(
      `with added as (
         insert into batches (id, account_id, mode, product, status, explain, charge_unknown, auto_start,
           retention_days, requested, source_key, file_bytes, ats)
         select id, 'a', 'live', 'email', 'analyzing', false, true, true, 30, '{}', 'u', 1, '{}'
         from unnest($1::text[]) id)
       insert into tasks (batch_id, account_id, mode, check_kind, depth, chunk_no, size)
       select id, 'a', 'live', 'email', 'full', 0, 1 from unnest($1::text[]) id`,
      [ids],
    )
    await db.pool.query(`update batches set status = 'running' where status = 'analyzing'`)
    const { rows } = await db.pool.query<{ batch: string; count: number }>(
      `select batch, count(*) as count from generate_series(1, 5000) n
         cross join lateral batches_in_turn('email', 'a', n is null, 8) group by 1`,
    )
    expect(rows.map(({ batch }) => batch).toSorted()).toEqual(ids.toSorted())
    // On average 167 times.
    expect(Math.min(...rows.map(({ count }) => count))).toBeGreaterThan(3)
  },
)

test('in any number of rounds, no more is leased than slots and reserve', async () => {
  await using place = await openTwoAccounts()
  const { db } = place
  await db.pool.query(`
    insert into tasks (batch_id, account_id, mode, check_kind, depth, chunk_no, size)
    select 'bat_' || account, account, 'live', 'email', 'full', no, 1
    from unnest(array['a', 'b']) account, generate_series(1, 50) no`)
  const slots = { email: 4, phone: 0, ip: 0, domain: 0 }
  const counts: number[] = []
  for (let round = 0; round < 10; round++) {
    counts.push((await leaseTasks(db, { slots, reserve: 3, leaseMs: 1 })).length)
  }
  // The reserve is for accounts without leased tasks: both have some.
  expect(counts).toEqual([4, 0, 0, 0, 0, 0, 0, 0, 0, 0])
})

test('locked and leased: rows that another transaction has locked are skipped', async () => {
  await using place = await openTwoAccounts()
  const { db } = place
  const [locked, free] = [await add(db), await add(db, { group: 'mx:a', due: -1, account: 'b' })]
  await db.pool.query(`insert into task_groups values ('email', 'mx:a', now())`)
  const other = await db.pool.connect()
  await other.query(`begin; select from tasks where id = ${locked} for update`)
  expect(idsOf(await run(db, 'locked'))).toEqual([free])
  expect(await run(db, 'leased')).toMatchObject([{ id: free, lease: 1, group_key: 'mx:a' }])
  await other.query('rollback')
  other.release()
})

const SLOTS = { email: 1, phone: 0, ip: 0, domain: 0 }

// With two slots two groups are read, and both have tasks of the chunk.
test.each([1, 2])(
  'due subjects of a chunk are leased as one task, with their states in order (slots: %i)',
  async (email) => {
    await using place = await openTwoAccounts()
    const { db } = place
    for (const no of [1, 2, 3, 4]) {
      const id = await add(db, { group: `mx:${no}`, due: no === 4 ? 5 : -1 })
      const states = JSON.stringify(no === 2 ? [null] : [{ tries: no }])
      await db.pool.query('update tasks set indexes = $2, states = $3 where id = $1', [
        id,
        [no],
        states,
      ])
      await db.pool.query(`insert into task_groups values ('email', $1, now())`, [`mx:${no}`])
    }
    await add(db, { group: 'mx:3', due: -1, chunk: 9 })
    const slots = { ...SLOTS, email }
    const [task, ...others] = await leaseTasks(db, { slots, reserve: 0, leaseMs: 60_000 })
    expect(others).toEqual([])
    const { rows } = await db.pool.query(
      'select indexes, size, states from tasks where lease_until is not null',
    )
    expect(rows).toEqual([
      { indexes: [1, 2, 3], size: 3, states: [{ tries: 1 }, null, { tries: 3 }] },
    ])
    const groups = await db.pool.query(
      'select group_key, out_task from task_groups order by group_key',
    )
    // Groups without further tasks are deleted; a group with more has its leased task noted.
    expect(groups.rows).toEqual([
      { group_key: 'mx:3', out_task: task?.taskId },
      { group_key: 'mx:4', out_task: null },
    ])
  },
)

/** Inserts this many due tasks of one chunk, each in a group of its own. */
async function addDue(db: Db, count: number): Promise<void> {
  await db.pool.query(
    `insert into tasks (batch_id, account_id, mode, check_kind, depth, chunk_no, size, indexes, states,
       group_key, due_at)
     select 'bat_a', 'a', 'live', 'email', 'full', 0, 1, array[no], jsonb_build_array(no), 'mx:' || no,
       now() - interval '1 min'
     from generate_series(1, $1::int) no`,
    [count],
  )
  await db.pool.query(
    `insert into task_groups select 'email', 'mx:' || no, now() from generate_series(1, $1::int) no`,
    [count],
  )
}

test('a task grows in each round, and holds each subject once with its state', async () => {
  await using place = await openTwoAccounts()
  const { db } = place
  await addDue(db, 400)
  await add(db, { account: 'b' })
  const slots = { ...SLOTS, email: 2 }
  const options = { slots, reserve: 0, leaseMs: 60_000 }
  let leased = await leaseTasks(db, options)
  const sizes: number[] = []
  const whole: LeasedTask[] = leased.filter(({ grows }) => !grows)
  while (leased.some(({ grows }) => grows)) {
    const growing = leased.filter(({ grows }) => grows)
    sizes.push(...(await sizesOf(db, growing)))
    leased = await leaseTasks(db, { ...options, growing })
    whole.push(...leased.filter(({ grows }) => !grows))
  }
  // No round merges more than 64 waiting tasks, and the other account's task was dispatched in the
  // first.
  expect(sizes.map((size, at) => size - (sizes[at - 1] ?? 0)).every((more) => more <= 66)).toBe(
    true,
  )
  expect(whole.map(({ accountId }) => accountId)).toEqual(['b', 'a'])
  const [large] = await sizesOf(db, whole.slice(1))
  expect(large).toBeGreaterThanOrEqual(256)
  const { rows } = await db.pool.query<{ indexes: readonly number[]; states: readonly number[] }>(
    `select indexes, states from tasks where indexes is not null`,
  )
  const all = rows.flatMap(({ indexes }) => indexes)
  expect(all.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 400 }, (_, at) => at + 1))
  expect(rows.flatMap(({ states }) => states)).toEqual(all)
  // The groups of merged tasks are deleted.
  expect((await db.pool.query('select from task_groups')).rowCount).toBe(400 - (large ?? 0))
})

test('a growing task that was leased by another process meanwhile is left to it', async () => {
  await using place = await openTwoAccounts()
  const { db } = place
  await addDue(db, 400)
  const options = { slots: SLOTS, reserve: 0, leaseMs: 60_000 }
  const growing = await leaseTasks(db, options)
  expect(growing).toMatchObject([{ grows: true }])
  const sizes = await sizesOf(db, growing)
  await db.pool.query('update tasks set lease = lease + 1 where lease_until is not null')
  expect(await leaseTasks(db, { ...options, growing })).toEqual([])
  expect(await sizesOf(db, growing)).toEqual(sizes)
})

async function sizesOf(db: Db, tasks: readonly LeasedTask[]): Promise<readonly number[]> {
  const { rows } = await db.pool.query<{ size: number }>(
    'select size from tasks where id = any($1) order by id',
    [tasks.map(({ taskId }) => taskId)],
  )
  return rows.map(({ size }) => size)
}

test('a few subjects are tried for a group that waits for a silent service of ours; then all are dispatched together', async () => {
  await using place = await openTwoAccounts()
  const { db } = place
  const group = 'silence:resolver'
  for (const chunk of [0, 1, 2]) {
    const id = await add(db, { group, due: -1, chunk })
    await db.pool.query('update tasks set indexes = $2, size = 40, states = $3 where id = $1', [
      id,
      Array.from({ length: 40 }, (_, at) => at),
      JSON.stringify(Array.from({ length: 40 }, (_, at) => ({ at }))),
    ])
  }
  await db.pool.query(`insert into task_groups values ('email', $1, now())`, [group])
  const slots = { ...SLOTS, email: 10 }
  const [trial, ...more] = await leaseTasks(db, { slots, reserve: 0, leaseMs: 60_000 })
  if (trial === undefined) throw new Error('nothing goes out')
  expect(more).toEqual([])
  const sizes = await db.pool.query<{ size: number; states: readonly unknown[] }>(
    'select size, states from tasks where id = $1',
    [trial.taskId],
  )
  expect(sizes.rows[0]?.size).toBe(10)
  expect(sizes.rows[0]?.states).toEqual(Array.from({ length: 10 }, (_, at) => ({ at })))
  expect(await leaseTasks(db, { slots, reserve: 0, leaseMs: 60_000 })).toEqual([])
  await db.kysely.transaction().execute((tx) =>
    storeTaskOutcomes(tx, {
      task: { ...trial, chunkNo: 0 },
      held: Array.from({ length: 10 }, (_, at) => at),
      indexes: null,
      count: 10,
      outcomes: Buffer.alloc(0),
      waiting: [],
      showsReplies: true,
      stays: null,
    }),
  )
  await emptyOpenGroups(db)
  expect(await leaseTasks(db, { slots, reserve: 0, leaseMs: 60_000 })).toHaveLength(3)
  await emptyOpenGroups(db)
  expect((await db.pool.query('select from task_groups')).rowCount).toBe(0)
})
