import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Problem } from '@plumbline/contract/problem'
import { expect, test } from 'vitest'
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
