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

async function everything({ pool }: Db): Promise<object> {
  const batches = await pool.query<object>('select * from batches order by id')
  const chunks = await pool.query<object>('select * from chunks')
  return { batches: batches.rows, chunks: chunks.rows }
}
