import { expect, test } from 'vitest'
import { createAbandonedJobs } from './abandoned-jobs.ts'

test('jobs that could not be removed are removed the next time', async () => {
  const asked: string[] = []
  let isAway = true
  const remove = (jobId: string): Promise<void> => {
    asked.push(jobId)
    return isAway && jobId !== 'a'
      ? Promise.reject(new Error(`${jobId} failed`))
      : Promise.resolve()
  }
  const abandoned = createAbandonedJobs({ producer: () => Promise.resolve({ remove }) }, new Map())
  for (const jobId of ['a', 'b', 'c']) abandoned.add('email', jobId)
  await expect(abandoned.remove()).rejects.toThrow('b failed')
  isAway = false
  await abandoned.remove()
  await abandoned.remove()
  expect(asked).toEqual(['a', 'b', 'c', 'b', 'c'])
})
