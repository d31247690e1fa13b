import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Problem } from '@plumbline/contract/problem'
import { expect, test, vi } from 'vitest'
import { openTestPipeline } from '@plumbline/testkit/pipeline'

test('concurrent batches are accepted up to the limit and no further', async () => {
  await using harness = await openTestPipeline({ limits: { unfinishedBatches: 3 } })
  const submitted = await Promise.allSettled(
    Array.from({ length: 20 }, () => harness.submit('email\nada@example.com\n')),
  )
  const taken = submitted.filter(({ status }) => status === 'fulfilled')
  expect(taken).toHaveLength(3)
  for (const { status, ...result } of submitted) {
    if (status === 'fulfilled') continue
    expect(result).toMatchObject({ reason: expect.any(Problem) })
    expect(result).toMatchObject({ reason: { code: 'too_many_requests' } })
  }
  // A batch that is refused in the end leaves no file in the store.
  expect(await readdir(join(harness.files, 'uploads'))).toHaveLength(3)
})

test('a batch is accepted within two seconds while the server of the queue does not reply', async () => {
  await using harness = await openTestPipeline()
  vi.spyOn(harness.pipeline.queue, 'producer').mockImplementation(
    async () => await new Promise(() => undefined),
  )
  const late = Promise.withResolvers<undefined>()
  const timer = setTimeout(() => late.resolve(undefined), 5_000)
  const submitted = await Promise.race([harness.submit('email\nada@example.com\n'), late.promise])
  clearTimeout(timer)
  expect(submitted).toBeDefined()
})

test('a file that was stored though the store reports a failure is removed again', async () => {
  await using harness = await openTestPipeline()
  const { storage } = harness.pipeline
  const { put } = storage
  vi.spyOn(storage, 'put').mockImplementation(async (...given) => {
    await put(...given)
    throw new Error('the reply is lost')
  })
  await expect(harness.submit('email\nada@example.com\n')).rejects.toThrow('the reply is lost')
  expect(await readdir(join(harness.files, 'uploads'))).toEqual([])
})
