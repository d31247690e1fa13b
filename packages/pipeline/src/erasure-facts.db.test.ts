import { openDatabase } from '@plumbline/db/database'
import { factStores, openErasureHarness } from '@plumbline/testkit/erasures'
import { expect, test } from 'vitest'
import { changeBatch } from './change.ts'
import { readErasure } from './erasure.ts'
import type { FactStores } from './erasure-stores.ts'
import type { Pipeline } from './pipeline.ts'
import { workErasure } from './work-erasures.ts'

// Facts are in stores of their own, which may be slow, away, or behind the same few connections.

const NEVER = new AbortController().signal
const MARK = 'ada@gone.example'
const LIST = 'email\nADA@gone.example\nbob@kept.example\n'
/** The fact about the address as the batch checked it, which no value of the request is. */
const FACT = { key: 'email ADA@gone.example', value: 1, ttlMs: 3_600_000 }

/** The stores, with something else that happens before a method of the cache does its work. */
function before(
  facts: FactStores,
  method: 'get' | 'delete',
  happens: () => Promise<void>,
): FactStores {
  const memory: FactStores['memory'] = {
    ...facts.memory,
    [method]: async (keys: readonly string[]) => {
      await happens()
      return await facts.memory[method](keys)
    },
  }
  return { ...facts, memory }
}

test('an erasure needs one connection to the database', async () => {
  await using harness = await openErasureHarness()
  const { pipeline, owner, facts } = harness
  await harness.runBatch(LIST)
  await facts.memory.set([FACT])
  const { id } = await harness.begin({ email: MARK })
  await using db = openDatabase({
    url: harness.databaseUrl,
    poolSize: 1,
    applicationName: 'one connection',
  })
  const failures: unknown[] = []
  const log: Pipeline['log'] = {
    ...pipeline.log,
    warn: (fields: unknown) => void failures.push(fields),
  }
  await workErasure({ pipeline: { ...pipeline, db, log }, facts: factStores(db) }, NEVER)
  expect(failures).toEqual([])
  expect(await readErasure(pipeline, owner, id)).toMatchObject({
    status: 'completed',
    erased: { batches: 1, rows: 1, results: 1, facts: 1 },
  })
})

test.each(['get', 'delete'] as const)(
  'a cache whose %s does not return holds up an erasure, and nobody else',
  async (method) => {
    await using harness = await openErasureHarness()
    const { pipeline, owner, facts } = harness
    const batch = await harness.runBatch(LIST)
    await facts.memory.set([FACT])
    const { id } = await harness.begin({ email: MARK })
    const asked = Promise.withResolvers<void>()
    const answer = Promise.withResolvers<void>()
    const slow = before(facts, method, async () => {
      asked.resolve()
      await answer.promise
    })
    const working = workErasure({ pipeline, facts: slow }, NEVER)
    await asked.promise
    const client = await pipeline.db.pool.connect()
    try {
      await client.query('begin')
      await client.query("set local lock_timeout = '100ms'")
      await client.query('update batches set name = name where id = $1', [batch])
      await client.query('update chunks set no = no where batch_id = $1', [batch])
      await client.query('commit')
    } finally {
      client.release(true)
      answer.resolve()
      await working
    }
    expect(await readErasure(pipeline, owner, id)).toMatchObject({ status: 'completed' })
    expect(await facts.memory.get([FACT.key])).toEqual([undefined])
  },
)

test('facts about rows that a change of the batch brings while others are forgotten are forgotten too', async () => {
  await using harness = await openErasureHarness()
  const { pipeline, owner, facts } = harness
  // The first line is a row only for the second reading.
  const batch = await harness.read('ADA@gone.example\nada@gone.example\n', {
    autoStart: false,
    requested: { header: true },
  })
  await facts.memory.set([FACT, { ...FACT, key: `email ${MARK}` }])
  const { id } = await harness.begin({ email: MARK })
  let changes = 0
  const changing = before(facts, 'delete', async () => {
    if (changes++ > 0) return
    await changeBatch(pipeline, owner, batch.id, { header: false })
    await harness.workStages()
  })
  await workErasure({ pipeline, facts: changing }, NEVER)
  await harness.work()
  expect(await readErasure(pipeline, owner, id)).toMatchObject({
    status: 'completed',
    erased: { batches: 1, rows: 2, facts: 2 },
  })
  expect(await facts.memory.get([FACT.key])).toEqual([undefined])
  expect(await harness.traces([MARK])).toEqual([])
})
