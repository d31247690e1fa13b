import { expect, test } from 'vitest'
import { readStageJob, readTaskJob, stageJob, taskJob } from './batch-jobs.ts'

test('a job names the lease that it was made for, and one that names none is refused', () => {
  const stage = { batchId: 'bat_1', lease: 3 }
  expect(readStageJob(stageJob(stage).data)).toEqual(stage)
  const task = { taskId: 7, lease: 3, queuedMs: 5 }
  expect(readTaskJob(taskJob({ ...task, batchId: 'bat_1' }, 5).data)).toEqual(task)
  expect(() => readStageJob({ taskId: 7, lease: 3 })).toThrow(TypeError)
  expect(() => readTaskJob(stage)).toThrow(TypeError)
})
