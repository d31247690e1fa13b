import { expect, test } from 'vitest'
import {
  readLiveJob,
  readLiveReply,
  writeFailed,
  writeInterrupted,
  writeLiveJob,
} from './live-protocol.ts'

const QUESTION = { subject: 'a@b.example', depth: 'basic', account: 'acc' } as const

test('each question of a job has its own time; a worker of an older version reads the latest', () => {
  const questions = [
    { ...QUESTION, id: 1, untilMs: 1_100, span: undefined },
    { ...QUESTION, id: 2, untilMs: 9_000, span: 'span' },
  ]
  const data = writeLiveJob({ replyTo: 'live:a', queuedMs: 1_000, questions })
  expect(data['until']).toBe(9_000)
  expect(readLiveJob(data).questions).toEqual(questions)
})

test('all questions of a job of an older version have its time', () => {
  const questions = JSON.stringify([
    [1, 'a@b.example', 'basic', 'acc'],
    [2, 'c@d.example', 'basic', 'acc', 'span'],
  ])
  const job = readLiveJob({ replyTo: 'live:a', until: 5_000, refusals: true, questions })
  expect(job.questions.map(({ id, untilMs }) => [id, untilMs])).toEqual([
    [1, 5_000],
    [2, 5_000],
  ])
})

test('an interrupted job is told from a failed one; an older version reads it as failed', () => {
  const failed = { kind: 'failed', jobId: 'job', ids: [1, 2] } as const
  expect(readLiveReply(writeFailed('job', [1, 2]))).toEqual({ ...failed, interrupted: false })
  expect(readLiveReply(writeInterrupted('job', [1, 2]))).toEqual({ ...failed, interrupted: true })
  expect(writeInterrupted('job', [1, 2])).toMatch(/^F\{"jobId":"job","ids":\[1,2\],/)
})
