import { setTimeout as wait } from 'node:timers/promises'
import { describe, expect, test, vi } from 'vitest'
import { PATIENT } from '@plumbline/testkit/patience'
import {
  openPostgresHarness,
  openRedisHarness,
  type QueueHarness,
} from '@plumbline/testkit/queue-harness'
import { depth, enqueue, work } from './jobs.ts'
import { WITHOUT_REDIS } from '@plumbline/testkit/without-redis'

describe.skipIf(WITHOUT_REDIS)('jobs on Redis', () => {
  testJobs(openRedisHarness)
})
describe('jobs on Postgres', () => {
  testJobs(openPostgresHarness)
})

const failOn = (error: unknown): never => {
  throw error
}

function testJobs(stage: () => Promise<QueueHarness>): void {
  test('every job is delivered once and leaves nothing behind', async () => {
    await using place = await stage()
    await using adder = await place.open()
    await using worker = await place.open()
    const ids = Array.from({ length: 500 }, (_, index) => `job-${index}`)
    await enqueue(
      adder.backend,
      'bulk-phone',
      ids.map((id) => ({ id, data: { of: id } })),
    )
    await enqueue(adder.backend, 'bulk-phone', [])
    expect(await depth(adder.backend, 'bulk-phone')).toEqual({ waiting: 500, active: 0 })
    const seen: unknown[] = []
    await using _ = await work(
      worker.backend,
      'bulk-phone',
      async ({ id, data }) => {
        expect(data).toEqual({ of: id })
        seen.push(id)
      },
      { concurrency: 10, onError: failOn },
    )
    await vi.waitFor(() => expect(seen).toHaveLength(500), PATIENT)
    expect(seen.toSorted()).toEqual(ids.toSorted())
    await vi.waitFor(async () => {
      expect(await depth(adder.backend, 'bulk-phone')).toEqual({ waiting: 0, active: 0 })
    }, PATIENT)
  })

  test('the id of a waiting job is not added twice; that of an ended one can be added again', async () => {
    await using place = await stage()
    await using queue = await place.open()
    const job = { id: 'again', data: {} }
    await enqueue(queue.backend, 'intake', [job])
    await enqueue(queue.backend, 'intake', [job])
    expect(await depth(queue.backend, 'intake')).toEqual({ waiting: 1, active: 0 })
    let count = 0
    await using _ = await work(queue.backend, 'intake', async () => void (count += 1), {
      concurrency: 1,
      onError: failOn,
    })
    await vi.waitFor(async () => {
      expect(count).toBe(1)
      expect(await depth(queue.backend, 'intake')).toEqual({ waiting: 0, active: 0 })
    }, PATIENT)
    await enqueue(queue.backend, 'intake', [job])
    await vi.waitFor(() => expect(count).toBe(2), PATIENT)
  })

  test('the number of active jobs may change with each job that begins', async () => {
    await using place = await stage()
    await using queue = await place.open()
    const gate = Promise.withResolvers<void>()
    const begun: string[] = []
    let limit = 1
    await using _ = await work(
      queue.backend,
      'bulk-phone',
      async ({ id }) => {
        begun.push(id)
        if (id === 'c') limit = 3
        if (id >= 'c') await gate.promise
      },
      { concurrency: () => limit, onError: failOn },
    )
    await enqueue(
      queue.backend,
      'bulk-phone',
      ['a', 'b', 'c', 'd', 'e', 'f'].map((id) => ({ id, data: {} })),
    )
    await vi.waitFor(() => expect(begun).toEqual(['a', 'b', 'c', 'd', 'e']), PATIENT)
    expect(await depth(queue.backend, 'bulk-phone')).toEqual({ waiting: 1, active: 3 })
    limit = 1
    gate.resolve()
    await vi.waitFor(() => expect(begun).toHaveLength(6), PATIENT)
  })

  test('an error of the handler ends that job alone and is reported', async () => {
    await using place = await stage()
    await using queue = await place.open()
    const done: string[] = []
    const errors: unknown[] = []
    await using _ = await work(
      queue.backend,
      'finish',
      async ({ id }) => {
        if (id === 'bad') throw new Error('a bug')
        done.push(id)
      },
      { concurrency: 1, onError: (error) => errors.push(error) },
    )
    await enqueue(
      queue.backend,
      'finish',
      ['one', 'bad', 'two'].map((id) => ({ id, data: {} })),
    )
    await vi.waitFor(async () => {
      expect(done).toEqual(['one', 'two'])
      expect(await depth(queue.backend, 'finish')).toEqual({ waiting: 0, active: 0 })
    }, PATIENT)
    expect(errors).toEqual([new Error('a bug')])
  })

  test('the job of a killed worker goes to another after its lock and a search', async () => {
    await using place = await stage()
    await using queue = await place.open()
    await using victim = await place.startWorker('hold')
    await enqueue(queue.backend, 'bulk-email', [{ id: 'held', data: {} }])
    await victim.receives('taken')
    const seen: string[] = []
    const startedMs = performance.now()
    await using _ = await work(queue.backend, 'bulk-email', async ({ id }) => void seen.push(id), {
      concurrency: 1,
      lockMs: 20_000,
      stalledMs: 500,
      onError: failOn,
    })
    await victim.kill()
    await vi.waitFor(() => expect(seen).toEqual(['held']), PATIENT)
    // Two searches, however long this worker's own locks last.
    expect(performance.now() - startedMs).toBeLessThan(20_000)
  })

  test('a worker whose event loop is blocked for less than half a lock keeps its job', async () => {
    await using place = await stage()
    await using queue = await place.open()
    const began = Promise.withResolvers<void>()
    const ending = Promise.withResolvers<void>()
    const seen: string[] = []
    const options = { concurrency: 1, lockMs: 3_000, stalledMs: 200, onError: failOn }
    await using _ = await work(
      queue.backend,
      'bulk-email',
      async ({ signal }) => {
        began.resolve()
        await ending.promise
        seen.push(signal.aborted ? 'lost' : 'kept')
      },
      options,
    )
    await enqueue(queue.backend, 'bulk-email', [{ id: 'busy', data: {} }])
    await began.promise
    await using searcher = await place.startWorker('hold')
    // Blocked for nearly the time of its lock, while another worker searches for stalled jobs.
    for (let times = 0; times < 3; times += 1) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_350)
      await wait(200)
    }
    ending.resolve()
    await expect.poll(() => seen, PATIENT).toEqual(['kept'])
    await searcher.kill()
  })

  test('closing waits for active jobs, and aborts them when the grace time is over', async () => {
    await using place = await stage()
    await using queue = await place.open()
    const began = Promise.withResolvers<void>()
    const seen: string[] = []
    const worker = await work(
      queue.backend,
      'intake',
      async ({ signal }) => {
        began.resolve()
        await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
        seen.push('aborted')
      },
      { concurrency: 1, graceMs: 20, onError: failOn },
    )
    await enqueue(queue.backend, 'intake', [{ id: 'endless', data: {} }])
    await began.promise
    await worker[Symbol.asyncDispose]()
    expect(seen).toEqual(['aborted'])
  })

  test('a job whose lock was lost is aborted', async () => {
    await using place = await stage()
    await using queue = await place.open()
    const began = Promise.withResolvers<void>()
    const ended = Promise.withResolvers<string>()
    await using _ = await work(
      queue.backend,
      'intake',
      async ({ id, signal }) => {
        began.resolve()
        await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
        ended.resolve(id)
      },
      { concurrency: 1, lockMs: 400, onError: () => {} },
    )
    await enqueue(queue.backend, 'intake', [{ id: 'lock-lost', data: {} }])
    await began.promise
    await place.empty()
    expect(await ended.promise).toBe('lock-lost')
  })
}
