import { eraseLeftovers } from '@plumbline/db/batches/erase'
import { closeFinishedBatches } from '@plumbline/db/batches/stages'
import { openTestPipeline, type TestPipeline } from '@plumbline/testkit/pipeline'
import { expect, test } from 'vitest'
import { cancelBatch, failBatch } from './cancel.ts'
import { changeBatch } from './change.ts'
import { deleteBatch, eraseBatches, expireBatches } from './erase.ts'
import { runFinish } from './finish.ts'
import { pauseBatch, resumeBatch } from './pause.ts'
import { getBatch } from './read.ts'
import { sampleBatch } from './sample.ts'
import { startBatch } from './start.ts'

/** Three chunks; two rows have both, one is a duplicate, and one is blank. */
const LIST =
  'email,phone\na@a.example,+14155550101\nb@a.example,\n\nc@a.example,+14155550102\na@a.example,+14155550101\n'
const OPTIONS = { product: 'contact-intel', autoStart: false } as const

type Act = (harness: TestPipeline, id: string) => Promise<unknown>

/** Moves a batch that waits at `ready` on, by the name of where it then is. */
const STATES = {
  // The first ones, as these steps answer whatever is open.
  sampled: async (harness, id) => {
    await STATES.sampling(harness, id)
    await work(harness)
  },
  completed: async (harness, id) => {
    await startBatch(harness.pipeline, harness.owner, id)
    await work(harness)
  },
  ready: async () => undefined,
  sampling: async ({ pipeline, owner }, id) => {
    const { rows } = await sampleBatch(pipeline, owner, id)
    if (rows.drawn !== 3) throw new Error(`${rows.drawn} rows are drawn of 3`)
  },
  running: async ({ pipeline, owner }, id) => {
    await startBatch(pipeline, owner, id)
    await pipeline.db.pool.query(
      `update tasks set due_at = now() + interval '1 h' where batch_id = $1`,
      [id],
    )
  },
  paused: async ({ pipeline, owner }, id) => {
    await startBatch(pipeline, owner, id)
    await pauseBatch(pipeline, owner, id)
  },
} satisfies Readonly<Record<string, Act>>

/** What is done with one batch, and where that is then. */
const ACTS: readonly { readonly name: string; readonly to: keyof typeof STATES; act: Act }[] = [
  { name: 'a change', to: 'sampled', act: change },
  { name: 'a change while it is sampled', to: 'sampling', act: change },
  { name: 'a sample', to: 'ready', act: STATES.sampling },
  { name: 'a start', to: 'sampled', act: STATES.running },
  {
    name: 'a pause',
    to: 'running',
    act: ({ pipeline, owner }, id) => pauseBatch(pipeline, owner, id),
  },
  {
    name: 'a resumption',
    to: 'paused',
    act: ({ pipeline, owner }, id) => resumeBatch(pipeline, owner, id),
  },
  {
    name: 'a cancel',
    to: 'running',
    act: async (harness, id) => {
      await cancel(harness, id)
      const { status } = await getBatch(harness.pipeline, harness.owner, id)
      if (status !== 'canceled') throw new Error(`it waits for others: it is ${status}`)
    },
  },
  {
    name: 'a cancel once something may be bought',
    to: 'running',
    act: async (harness, id) => {
      await harness.pipeline.db.pool.query(
        `update tasks set lease = 1 where batch_id = $1 and check_kind = 'phone'`,
        [id],
      )
      await cancel(harness, id)
    },
  },
  { name: 'a cancel while it is sampled', to: 'sampling', act: cancel },
  { name: 'a deletion', to: 'completed', act: remove },
  { name: 'a deletion of one that was sampled', to: 'sampled', act: remove },
  {
    name: 'its expiry',
    to: 'completed',
    act: async ({ pipeline }, id) => {
      await pipeline.db.pool.query(
        `update batches set expires_at = now() - interval '1 s' where id = $1`,
        [id],
      )
      expect(await expireBatches(pipeline)).toBe(1)
      await eraseBatches(pipeline)
    },
  },
  {
    name: 'the removal of what an attempt has read',
    to: 'ready',
    act: async ({ pipeline }, batchId) =>
      await eraseLeftovers(pipeline.db, { batchId, lease: await leaseOf(pipeline, batchId) }),
  },
  {
    name: 'its failure',
    to: 'ready',
    act: async (harness, id) => {
      await change(harness, id)
      const lease = await leaseOf(harness.pipeline, id)
      const stage = { batchId: id, lease }
      await failBatch(harness.pipeline, stage, { error: 'Conflict', message: 'It is broken.' })
    },
  },
]

async function change({ pipeline, owner }: TestPipeline, id: string): Promise<void> {
  await changeBatch(pipeline, owner, id, { header: false })
}

async function cancel({ pipeline, owner }: TestPipeline, id: string): Promise<void> {
  await cancelBatch(pipeline, owner, id)
  const lease = await leaseOf(pipeline, id)
  await runFinish(pipeline, { batchId: id, lease }, new AbortController().signal)
}

async function remove({ pipeline, owner }: TestPipeline, id: string): Promise<void> {
  await deleteBatch(pipeline, owner, id)
  await eraseBatches(pipeline)
}

async function leaseOf({ db }: TestPipeline['pipeline'], id: string): Promise<number> {
  const { rows } = await db.pool.query<{ lease: number }>(
    'select lease from batches where id = $1',
    [id],
  )
  return rows[0]?.lease ?? 0
}

/** Answers all open tasks, and runs the stages that follow. */
async function work(harness: TestPipeline): Promise<void> {
  await harness.answer()
  await closeFinishedBatches(harness.pipeline.db)
  await harness.workStages()
}

/** All rows of batches, but not of this one and its samples. */
async function rowsOfOthers({ db }: TestPipeline['pipeline'], id: string): Promise<unknown> {
  const { rows: tables } = await db.pool.query<{ name: string }>(
    `select table_name as name from information_schema.columns
     where column_name = 'batch_id' and table_schema = 'public' order by 1`,
  )
  const parts = tables.map(
    ({ name }) => `select '${name}' as name, to_jsonb(t) as row from ${name} t
      where batch_id not in (select id from own)`,
  )
  const { rows } = await db.pool.query<object>(
    `with own as (select id from batches where id = $1 or sample_of = $1)
     ${parts.join(' union all ')}
     union all select 'batches', to_jsonb(t) from batches t where id not in (select id from own)
     order by 1, 2`,
    [id],
  )
  return rows
}

test('no act on a batch changes another', async () => {
  await using harness = await openTestPipeline({
    limits: { chunkRecords: 2, unfinishedBatches: 100 },
  })
  const { pipeline } = harness
  const states = Object.keys(STATES) as (keyof typeof STATES)[]
  const targets = new Map<string, string>()
  for (const to of states) {
    for (const name of [
      `another ${to}`,
      ...ACTS.filter((each) => each.to === to).map((each) => each.name),
    ]) {
      const { id } = await harness.read(LIST, OPTIONS)
      await STATES[to](harness, id)
      targets.set(name, id)
    }
  }
  for (const { name, act } of ACTS) {
    const id = targets.get(name) ?? ''
    const before = await rowsOfOthers(pipeline, id)
    await act(harness, id)
    expect({ name, rows: await rowsOfOthers(pipeline, id) }).toEqual({ name, rows: before })
  }
})
