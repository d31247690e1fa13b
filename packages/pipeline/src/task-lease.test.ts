import { openDatabase } from '@plumbline/db/database'
import { expect, test, vi } from 'vitest'
import { DEFAULT_LIMITS } from './pipeline.ts'
import { createTaskLeases, type TaskLeases } from './task-lease.ts'

const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

/** A task of a running batch under a lease. */
const taskOf = (taskId: number, lease: number): Parameters<TaskLeases['keep']>[0] => ({
  taskId,
  lease,
  batchId: 'bat_a',
  chunkNo: 0,
  check: 'email',
  canceling: false,
})

test('a run is stopped as lost if its own process claims the task again', async () => {
  // No connection is opened: that happens with the first statement.
  const url = 'postgres://nobody@127.0.0.1/none'
  await using db = openDatabase({ url, poolSize: 1, applicationName: 'test' })
  using leases = createTaskLeases({ db, log, limits: DEFAULT_LIMITS })
  const first = leases.keep(taskOf(7, 2))
  const other = leases.keep(taskOf(8, 2))
  const second = leases.keep(taskOf(7, 4))
  expect([first, other, second].map(({ lost }) => lost.aborted)).toEqual([true, false, false])
  first[Symbol.dispose]()
  const third = leases.keep(taskOf(7, 6))
  expect([second, third].map(({ lost }) => lost.aborted)).toEqual([true, false])
})

test('a renewal that failed is tried again each second until it succeeds', async () => {
  vi.useFakeTimers()
  try {
    const url = 'postgres://nobody@127.0.0.1/none'
    await using db = openDatabase({ url, poolSize: 1, applicationName: 'test' })
    const askedMs: number[] = []
    const startedMs = Date.now()
    const renew = async (): Promise<object> => {
      askedMs.push(Date.now() - startedMs)
      if (askedMs.length < 3) throw new Error('Connection terminated')
      return { rows: [{ id: 7 }] }
    }
    Object.assign(db.pool, { query: renew })
    using leases = createTaskLeases({ db, log, limits: { ...DEFAULT_LIMITS, leaseMs: 30_000 } })
    using lease = leases.keep({ ...taskOf(7, 2), canceling: true })
    await vi.advanceTimersByTimeAsync(20_000)
    expect(askedMs).toEqual([10_000, 11_000, 12_000, 20_000])
    expect(lease.lost.aborted).toBe(false)
  } finally {
    vi.useRealTimers()
  }
})
