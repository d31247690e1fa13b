import { setTimeout as wait } from 'node:timers/promises'
import { readCapacity } from '@plumbline/db/workers'
import { DEFAULT_CAPACITY } from '@plumbline/pipeline/task-capacity'
import { CALLS_A_SECOND } from './load.ts'
import { openJobReader, type QueuedJob } from './queued-jobs.ts'
import type { LabTarget, Scenario } from './scenario.ts'

const POLL_MS = 1_000

/** Milliseconds: longest wait until a worker has claimed a task, and interval of checks. */
const CLAIM_WITHIN_MS = 20_000
const POLL_CLAIM_MS = 10

/** Milliseconds that the job of a call may be in a queue: the time limit of a call, and time to remove the job. */
const CALL_MS = 15_750

/**
 * Kills all email workers while batches are submitted and calls are made, and restarts them after
 * `awayMs`. The queues must not grow meanwhile: they hold at most one job for each task that may be in
 * flight, and one for each waiting call.
 */
export function workersAway(awayMs: number): Scenario {
  return {
    what: `all email workers killed, and away for ${awayMs / 1_000} s`,
    inject: async (target) => {
      const workers = target.service.workers.filter(({ name }) => name.startsWith('email'))
      const { email } = await readCapacity(target.service.db, DEFAULT_CAPACITY)
      await untilClaimed(target)
      await Promise.all(workers.map((worker) => worker.kill()))
      const watched = await watchJobs(target, awayMs)
      await Promise.all(workers.map((worker) => worker.restart()))
      return judgeJobs(watched, email.slots + email.reserve)
    },
  }
}

/** Waits until a worker has claimed a task, so that the kill hits a claimed task. */
async function untilClaimed({ service }: LabTarget): Promise<void> {
  const untilMs = performance.now() + CLAIM_WITHIN_MS
  while (performance.now() < untilMs) {
    const { rowCount } = await service.db.pool.query(
      'select from tasks where claimed and lease_until is not null limit 1',
    )
    if ((rowCount ?? 0) > 0) return
    await wait(POLL_CLAIM_MS)
  }
  throw new Error('no worker has claimed a task')
}

/** Jobs that were in the queues while no worker ran. */
interface WatchedJobs {
  /** The maximum number of jobs, by the kind of queue. */
  readonly most: { tasks: number; calls: number; stages: number }
  /** Tasks that had two jobs at the same time. */
  readonly doubled: Set<string>
}

async function watchJobs(target: LabTarget, forMs: number): Promise<WatchedJobs> {
  await using reader = openJobReader(target)
  const most = { tasks: 0, calls: 0, stages: 0 }
  const doubled = new Set<string>()
  const endMs = performance.now() + forMs
  while (performance.now() < endMs) {
    const jobs = Map.groupBy(await reader.read(), ({ queue }) => kindOf(queue))
    for (const kind of KINDS) most[kind] = Math.max(most[kind], jobs.get(kind)?.length ?? 0)
    for (const [task, { length }] of Map.groupBy(jobs.get('tasks') ?? [], taskOf)) {
      if (length > 1) doubled.add(task)
    }
    await wait(Math.min(POLL_MS, Math.max(0, endMs - performance.now())))
  }
  return { most, doubled }
}

const KINDS = ['tasks', 'calls', 'stages'] as const

function kindOf(queue: string): (typeof KINDS)[number] {
  if (queue.startsWith('bulk-')) return 'tasks'
  return queue.startsWith('live-') ? 'calls' : 'stages'
}

/** The task of a job: its id without the number of the lease. */
function taskOf({ id }: QueuedJob): string {
  return id.slice(0, id.lastIndexOf('-'))
}

function judgeJobs(
  { most, doubled }: WatchedJobs,
  room: number,
): { readonly notes: readonly string[]; readonly violations: readonly string[] } {
  const calls = Math.ceil((CALLS_A_SECOND * CALL_MS) / 1_000)
  const violations: string[] = []
  if (most.tasks > room) violations.push(`TOO MANY jobs of tasks: ${most.tasks}, limit ${room}`)
  if (most.calls > calls) violations.push(`TOO MANY jobs of calls: ${most.calls}, limit ${calls}`)
  if (doubled.size > 0) violations.push(`TWO JOBS of one task: ${[...doubled].join(', ')}`)
  const note = `at most ${most.tasks} jobs of tasks (limit ${room}), ${most.calls} of calls (limit ${calls}), ${most.stages} of stages`
  return { notes: [note], violations }
}
