import { PATIENT } from '@plumbline/testkit/patience'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { inTransaction, type Db } from '../database.ts'
import { insertChunks } from './chunks.ts'
import { moveBatch, readBatch } from './rows.ts'
import {
  abandonStage,
  claimStage,
  leaseStages,
  postponeCanceled,
  renewLapsedStages,
  renewStage,
  returnLapsedStages,
  returnStage,
  yieldStage,
  type Stage,
} from './stages.ts'
import { openTwoAccounts } from './tasks-fixture.ts'

const LEASE_MS = 60_000
const CHUNK = {
  no: 0,
  firstRow: 0,
  rowCount: 1,
  billableCount: 1,
  counts: { email: 1, phone: 0, ip: 0, domain: 0 },
  subjects: Buffer.from('A'),
  cells: Buffer.from('A'),
}

/** Everything that is written under the lease of a stage. */
const WRITES: Readonly<Record<string, (db: Db, stage: Stage) => Promise<unknown>>> = {
  'a claim': async (db, stage) => await claimStage(db, stage, LEASE_MS),
  'a renewal': async (db, stage) => await renewStage(db, stage, LEASE_MS * 2),
  'a return': async (db, stage) => await returnStage(db, stage),
  'a return at once': async (db, stage) => await abandonStage(db, stage),
  'a return after a fault': async (db, stage) => await yieldStage(db, stage, 0),
  'a delay': async (db, stage) => await postponeCanceled(db, stage, { leastMs: 1, mostMs: 9 }),
  'a longer wait for its job': async (db, stage) => await renewLapsedStages(db, [stage], LEASE_MS),
  'the loss of its job': async (db, stage) => await returnLapsedStages(db, [stage]),
  'rows that were read': async (db, stage) => await insertChunks(db, stage, [CHUNK]),
  'its end': async (db, { batchId, lease }) =>
    await inTransaction(db, (tx) => moveBatch(tx, batchId, 'ready', {}, lease)),
}

test('a stage that another worker has gets no writes of the one that had it before', async () => {
  await using place = await openTwoAccounts('analyzing')
  const { db } = place
  await leaseStages(db, LEASE_MS)
  // Its lease has run out since the other worker claimed it, so that no renewal hides a write.
  await db.pool.query(`update batches set lease = 5, lease_until = now() - interval '1 s'`)
  const lost = { batchId: 'bat_a', stage: 'intake', lease: 4 } as const
  const before = await everything(db)
  for (const [name, write] of Object.entries(WRITES)) {
    await write(db, lost)
    expect({ name, ...(await everything(db)) }).toEqual({ name, ...before })
  }
  expect(await renewStage(db, lost, LEASE_MS)).toBe(false)
  expect(await insertChunks(db, lost, [CHUNK])).toBe(false)
  const held = { ...lost, lease: 5 }
  expect(await renewStage(db, held, LEASE_MS)).toBe(true)
  expect(await insertChunks(db, held, [CHUNK])).toBe(true)
})

test('a canceled batch that is postponed has neither its lease nor the attempt, and is due within the bounds', async () => {
  await using place = await openTwoAccounts('analyzing')
  const { db } = place
  await db.pool.query(`
    update batches set status = 'canceling', stage_attempts = 3, lease = 5,
      ats = jsonb_build_object('canceling', now() - case id when 'bat_a' then interval '1 hour' else '1 s' end)`)
  for (const batchId of ['bat_a', 'bat_b']) {
    await postponeCanceled(db, { batchId, lease: 5 }, { leastMs: 60_000, mostMs: 120_000 })
    expect(await renewStage(db, { batchId, lease: 5 }, LEASE_MS)).toBe(false)
  }
  const { rows } = await db.pool.query(`
    select stage_attempts as attempts, round(extract(epoch from lease_until - now()) / 60)::int as minutes
    from batches order by id`)
  expect(rows).toEqual([
    { attempts: 2, minutes: 2 },
    { attempts: 2, minutes: 1 },
  ])
})

test('no stage is claimed and no row stored of a batch that has none, whatever its lease', async () => {
  await using place = await openTwoAccounts()
  const { db } = place
  const { lease } = (await readBatch(db, 'bat_a')) ?? { lease: -1 }
  const stage = { batchId: 'bat_a', stage: 'intake', lease } as const
  const before = await everything(db)
  expect(await claimStage(db, stage, LEASE_MS)).toBeUndefined()
  expect(await insertChunks(db, stage, [CHUNK])).toBe(false)
  expect(await everything(db)).toEqual(before)
})

test('a stage that has a lease is not leased again, nor one whose row another process changes', async () => {
  await using place = await openTwoAccounts('analyzing')
  const { db } = place
  const other = await db.pool.connect()
  await other.query(`begin`)
  await other.query(`select from batches where id = 'bat_b' for update`)
  const ids = async () => (await leaseStages(db, LEASE_MS)).map(({ batchId }) => batchId)
  expect(await ids()).toEqual(['bat_a'])
  await other.query('rollback')
  other.release()
  expect(await ids()).toEqual(['bat_b'])
  await db.pool.query(`update batches set lease_until = now() - interval '1 s'`)
  expect(await ids()).toEqual([])
})

test.each([
  {
    what: 'leases',
    act: async (db: Db) => expect(await leaseStages(db, LEASE_MS)).toHaveLength(2),
  },
  {
    what: 'ends',
    act: async (db: Db) => await db.pool.query(`update batches set status = 'ready'`),
  },
])('a stage that another process $what while this one chooses is not leased', async ({ act }) => {
  await using place = await openTwoAccounts('analyzing')
  const { db } = place
  // The clock of the first process stops once it has read the stages.
  await db.pool.query(`
    create schema stopped;
    create function stopped.clock_timestamp() returns timestamptz language plpgsql as $$
    begin
      perform pg_advisory_xact_lock_shared(1);
      return pg_catalog.clock_timestamp();
    end $$`)
  const clock = await db.pool.connect()
  await clock.query('select pg_advisory_lock(1)')
  const late = inTransaction(db, async (tx) => {
    await sql`set local search_path = stopped, public, pg_catalog`.execute(tx)
    return await leaseStages(tx, LEASE_MS)
  })
  const waiting =
    "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
  await expect.poll(async () => (await db.pool.query(waiting)).rowCount, PATIENT).toBe(1)
  await act(db)
  await clock.query('select pg_advisory_unlock(1)')
  clock.release()
  expect(await late).toEqual([])
})

test('a batch is read in its turn, however many short files of another account are older', async () => {
  await using place = await openTwoAccounts('analyzing')
  const { db } = place
  await db.pool.query(`
    update batches set created_at = now() - interval '1 day' where account_id = 'a';
    delete from batches where account_id = 'b';
    insert into batches (id, account_id, mode, product, status, explain, charge_unknown, auto_start,
      retention_days, requested, source_key, file_bytes, ats, created_at)
    select 'bat_' || no, case when no < 200 then 'a' else 'b' end, 'live', 'email', 'analyzing', false,
      true, true, 30, '{}', 'u', 1, '{}', now() - interval '1 hour' from generate_series(100, 200) no`)
  const leased = await leaseStages(db, LEASE_MS)
  expect(leased.slice(0, 2).map(({ batchId }) => batchId)).toEqual(['bat_a', 'bat_200'])
  expect(leased).toHaveLength(100)
})

test('the short files of an account come in the order of their arrival, and no later for a long one', async () => {
  await using place = await openTwoAccounts('analyzing')
  const { db } = place
  await db.pool.query(`
    insert into batches (id, account_id, mode, product, status, explain, charge_unknown, auto_start,
      retention_days, requested, source_key, file_bytes, ats, lease_until, created_at)
    select 'bat_a' || no, 'a', 'live', 'email', 'analyzing', false, true, true, 30, '{}', 'u',
      case no when 1 then 1e9 else 1 end, '{}', case no when 1 then now() + interval '1 min' end,
      now() - no * interval '1 hour'
    from generate_series(1, 3) no`)
  const leased = await leaseStages(db, LEASE_MS)
  expect(leased.map(({ batchId }) => batchId)).toEqual(['bat_a3', 'bat_b', 'bat_a2', 'bat_a'])
})

async function everything({ pool }: Db): Promise<object> {
  const batches = await pool.query<object>('select * from batches order by id')
  const chunks = await pool.query<object>('select * from chunks')
  return { batches: batches.rows, chunks: chunks.rows }
}
