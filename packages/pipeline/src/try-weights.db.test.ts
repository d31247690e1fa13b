import type { Product } from '@plumbline/contract/products'
import type { Weights } from '@plumbline/contract/score'
import { closeFinishedBatches } from '@plumbline/db/batches/stages'
import { storeWeights, readWeights } from '@plumbline/db/score-weights'
import { createScorer } from '@plumbline/scoring/score'
import { overlayWeights } from '@plumbline/scoring/weights'
import { openTestPipeline, type TestPipeline } from '@plumbline/testkit/pipeline'
import { expect, test } from 'vitest'
import { getBatch } from './read.ts'
import { rescoreBatch } from './rescore.ts'
import { tryWeights } from './try-weights.ts'

const ROWS = Array.from({ length: 40 }, (_, no) => `u${no}@a.example,203.0.113.${no},example.com`)
const CONTENT = `email,ip,domain\n${ROWS.join('\n')}\n${ROWS[3]}\n,,\nx\n`

function weightsOf(vpn: number): Weights {
  const groups = { 'ip.anonymity': { vpn } }
  return overlayWeights(JSON.stringify({ version: 'own', groups }), 'the test')
}

async function ended(harness: TestPipeline, product: Product): Promise<string> {
  const { id } = await harness.read(CONTENT, { product })
  await harness.answer()
  await closeFinishedBatches(harness.pipeline.db)
  await harness.workStages()
  expect((await getBatch(harness.pipeline, harness.owner, id)).status).toBe('completed')
  return id
}

test('the counts of a trial equal those of the batch and of its rescore with the tried weights', async () => {
  await using harness = await openTestPipeline()
  const { pipeline, owner } = harness
  const { db } = pipeline
  const id = await ended(harness, 'fraud-signals')
  const own = weightsOf(99)
  const trial = await tryWeights(db, id, own, createScorer)
  const before = await getBatch(pipeline, owner, id)
  expect(trial).toMatchObject({ batch: id, before: before.weights, after: own.version })
  const fraud = trial.scores.find(({ score }) => score === 'fraud_score')
  expect(fraud?.before).toEqual(before.verdicts)
  expect(fraud?.moved).toBeGreaterThan(0)
  // A trial stores nothing.
  expect(await readWeights(db, own.version)).toBeUndefined()
  await storeWeights(db, own)
  const rescored = await rescoreBatch(pipeline, owner, id, { weights: own.version })
  await harness.workStages()
  await db.pool.query('update batches set lease_until = null')
  await harness.workStages()
  await closeFinishedBatches(db)
  await harness.workStages()
  const after = await getBatch(pipeline, owner, rescored.id)
  expect(after.status).toBe('completed')
  expect(fraud?.after).toEqual(after.verdicts)
})

test('weights without a difference change no score', async () => {
  await using harness = await openTestPipeline()
  const id = await ended(harness, 'contact-intel')
  const same = await readWeights(harness.pipeline.db, harness.pipeline.scorers.current.version)
  if (same === undefined) throw new Error('no weights')
  const { scores } = await tryWeights(harness.pipeline.db, id, same, createScorer)
  expect(scores.map(({ score }) => score)).toEqual(['threat_score', 'safety_score'])
  for (const { changed, moved, before, after, records } of scores) {
    expect({ changed, moved, records }).toEqual({ changed: 0, moved: 0, records: 40 })
    expect(after).toEqual(before)
  }
})

test('a batch that has not ended, has no score or does not exist is refused', async () => {
  await using harness = await openTestPipeline()
  const { db } = harness.pipeline
  const { id: open } = await harness.read(CONTENT, { product: 'fraud-signals' })
  const attempt = (id: string) => tryWeights(db, id, weightsOf(50), createScorer)
  await expect(attempt(open)).rejects.toMatchObject({ code: 'conflict' })
  const plain = await ended(harness, 'email')
  await expect(attempt(plain)).rejects.toMatchObject({ code: 'unprocessable' })
  await expect(attempt('bat_none')).rejects.toMatchObject({ code: 'not_found' })
})
