import { CHECKS, type Check } from '@plumbline/contract/products'
import { createTestDatabase } from '@plumbline/testkit/postgres'
import { expect, test } from 'vitest'
import { openDatabase, type Db } from '../database.ts'
import { leaseStatement, type LeasePart } from './lease-tasks.ts'

/** Two accounts with a running batch each; tasks are put in by the tests. */
async function openPlace(): Promise<AsyncDisposable & { readonly db: Db }> {
  await using stack = new AsyncDisposableStack()
  const database = stack.use(await createTestDatabase())
  const db = stack.use(openDatabase({ url: database.url, poolSize: 3, applicationName: 'test' }))
  await db.pool.query(`
    insert into accounts (id, email, plan) values ('a', 'a@b.example', 'pro'), ('b', 'b@b.example', 'pro');
    insert into batches (id, account_id, mode, product, status, explain, charge_unknown, auto_start,
      retention_days, requested, source_key, file_bytes, ats)
    select 'bat_' || a.id, a.id, 'live', 'email', 'analyzing', false, true, true, 30, '{}', 'u', 1, '{}'
    from accounts a;
    update batches set status = 'running'`)
  const owned = stack.move()
  return { db, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

interface TaskColumns {
  readonly account?: 'a' | 'b'
  readonly check?: Check
  readonly chunk?: number
  readonly group?: string
  /** Minutes from now. */
  readonly due?: number
  readonly attempts?: number
}

/** Puts a task in and answers its id. */
async function add(db: Db, task: TaskColumns = {}): Promise<number> {
  const { account = 'a', check = 'email', chunk = 0, group = null, due = null } = task
  const { rows } = await db.pool.query<{ id: number }>(
    `insert into tasks (batch_id, account_id, mode, check_kind, depth, chunk_no, size, group_key,
       due_at, attempts)
     values ('bat_' || $1, $1, 'live', $2, 'full', $3, 1, $4, now() + $5::int * interval '1 min', $6)
     returning id`,
    [account, check, chunk, group, due, task.attempts ?? 0],
  )
  return rows[0]?.id ?? 0
}

/** Leases a task until so many minutes from now. */
async function lease(db: Db, id: number, minutes: number): Promise<void> {
  await db.pool.query(
    `update tasks set lease = lease + 1, lease_until = clock_timestamp() + $2::int * interval '1 min'
     where id = $1`,
    [id, minutes],
  )
}

/** What a part of the statement finds, with `slots` for every check. */
async function run(
  db: Db,
  part: LeasePart,
  { slots = 2, reserve = 1 } = {},
): Promise<readonly Record<string, unknown>[]> {
  const values = [CHECKS, CHECKS.map(() => slots), reserve, 60_000, ['phone']]
  return (await db.pool.query<Record<string, unknown>>(leaseStatement(part), values)).rows
}

const idsOf = (rows: readonly Record<string, unknown>[]): unknown[] => rows.map(({ id }) => id)

test('turn: one dispatcher at a time, the other waits for nothing', async () => {
  await using place = await openPlace()
  const other = await place.db.pool.connect()
  await other.query("begin; select pg_advisory_xact_lock(hashtext('tasks.lease'))")
  expect(await run(place.db, 'turn')).toEqual([{ ours: false }])
  await add(place.db)
  expect(await run(place.db, 'leased')).toEqual([])
  await other.query('rollback')
  other.release()
  expect(await run(place.db, 'turn')).toEqual([{ ours: true }])
})

test('lost: a lease that ran out is taken back, and rests from the second attempt on', async () => {
  await using place = await openPlace()
  const [first, third, held] = [
    await add(place.db),
    await add(place.db, { attempts: 3 }),
    await add(place.db),
  ]
  for (const [id, minutes] of [
    [first, -1],
    [third, -1],
    [held, 1],
  ] as const)
    await lease(place.db, id, minutes)
  expect(idsOf(await run(place.db, 'lost')).toSorted()).toEqual([first, third])
  const { rows } = await place.db.pool.query(
    `select id, due_at > now() + interval '59 s' as rests from tasks where lease_until is null order by id`,
  )
  expect(rows).toEqual([
    { id: first, rests: null },
    { id: third, rests: true },
  ])
})

test('busy and kinds: what is leased is taken off the slots of its check', async () => {
  await using place = await openPlace()
  await lease(place.db, await add(place.db), 1)
  await add(place.db)
  expect(await run(place.db, 'busy')).toEqual([{ check_kind: 'email', account_id: 'a', n: 1 }])
  const free = await run(place.db, 'kinds')
  expect(free.find(({ check_kind }) => check_kind === 'email')).toMatchObject({ free: 1 })
  expect(free.filter(({ free: slots }) => slots === 2)).toHaveLength(CHECKS.length - 1)
})

test('fresh: pending tasks that are due; of a canceled batch only what may have been bought', async () => {
  await using place = await openPlace()
  const { db } = place
  const [email, bought] = [await add(db), await add(db, { check: 'phone' })]
  await add(db, { due: 5 })
  await add(db, { group: 'mx:a', due: 0 })
  expect(idsOf(await run(db, 'fresh')).toSorted()).toEqual([email, bought])
  await db.pool.query(`update tasks set lease = 1 where id = ${bought}`)
  await add(db, { check: 'phone' })
  await db.pool.query(`update batches set status = 'canceling'`)
  expect(idsOf(await run(db, 'fresh'))).toEqual([bought])
})

test('waiting: one due task of a group with room, of the account after the one served last', async () => {
  await using place = await openPlace()
  const { db } = place
  const ofA = await add(db, { group: 'mx:a', due: -1 })
  const ofB = await add(db, { group: 'mx:a', due: -1, account: 'b' })
  await add(db, { group: 'mx:full', due: -1 })
  await db.pool.query(`insert into task_groups (check_kind, group_key, next_at)
    values ('email', 'mx:a', now()), ('email', 'mx:full', now() + interval '1 min')`)
  expect(idsOf(await run(db, 'waiting'))).toEqual([ofA])
  await db.pool.query(`update task_groups set last_account_id = 'a'`)
  expect(idsOf(await run(db, 'waiting'))).toEqual([ofB])
  await lease(db, ofB, 1)
  expect(idsOf(await run(db, 'waiting'))).toEqual([])
})

test('placed and chosen: accounts take turns, and one with nothing leased may use the reserve', async () => {
  await using place = await openPlace()
  const { db } = place
  const [first, second] = [await add(db, { chunk: 0 }), await add(db, { chunk: 1 })]
  const other = await add(db, { account: 'b' })
  const placed = await run(db, 'placed')
  const place1 = placed.filter(({ place: position }) => position === 1)
  expect(idsOf(place1).toSorted()).toEqual([first, other])
  expect(idsOf(await run(db, 'chosen', { slots: 2 })).toSorted()).toEqual([first, other])
  await lease(db, first, 1)
  expect(idsOf(await run(db, 'chosen', { slots: 1, reserve: 1 }))).toEqual([other])
  expect(idsOf(await run(db, 'chosen', { slots: 1, reserve: 0 }))).toEqual([])
  expect(idsOf(await run(db, 'chosen', { slots: 3 })).toSorted()).toEqual([second, other])
})

test('locked, leased and served: what another has locked is passed over, groups note who was served', async () => {
  await using place = await openPlace()
  const { db } = place
  const [locked, free] = [await add(db), await add(db, { group: 'mx:a', due: -1, account: 'b' })]
  await db.pool.query(`insert into task_groups values ('email', 'mx:a', now())`)
  const other = await db.pool.connect()
  await other.query(`begin; select from tasks where id = ${locked} for update`)
  expect(idsOf(await run(db, 'locked'))).toEqual([free])
  expect(await run(db, 'leased')).toMatchObject([{ id: free, lease: 1, group_key: 'mx:a' }])
  await other.query('rollback')
  other.release()
  await db.pool.query('update tasks set lease_until = null')
  expect(await run(db, 'served')).toEqual([{ last_account_id: 'b' }])
})
