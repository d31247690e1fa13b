import { openTestPipeline } from '@plumbline/testkit/pipeline'
import { expect, test } from 'vitest'
import { cancelBatch } from './cancel.ts'
import type { BatchCreditCounter } from './pipeline.ts'

test('credits of batches are counted as they are charged and released, by product', async () => {
  const counted: string[] = []
  const note =
    (kind: string): BatchCreditCounter['charged'] =>
    (product, credits) => {
      if (credits > 0) counted.push(`${product} ${kind} ${credits}`)
    }
  const countCredits = { charged: note('charged'), released: note('released') }
  await using harness = await openTestPipeline({ limits: { chunkRecords: 2 }, countCredits })
  const { pipeline, owner, read, answer, workStages } = harness
  await read('email\na@b.example\nb@b.example\nc@b.example\n')
  await answer()
  await workStages()
  expect(counted.splice(0).toSorted()).toEqual(['email charged 1', 'email charged 2'])
  const { id } = await read('email\nd@b.example\ne@b.example\nf@b.example\n')
  await answer(1)
  await cancelBatch(pipeline, owner, id)
  await workStages()
  expect(counted.toSorted()).toEqual(['email charged 2', 'email released 1'])
})
