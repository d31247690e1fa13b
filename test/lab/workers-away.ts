import { setTimeout as wait } from 'node:timers/promises'
import { readRoom } from '@plumbline/db/workers'
import { DEFAULT_ROOM } from '@plumbline/pipeline/task-room'
import { CALLS_A_SECOND } from './load.ts'
import { openJobReader, type QueuedJob } from './queued-jobs.ts'
import type { LabTarget, Scenario } from './scenario.ts'

const LOOK_MS = 1_000

/** Longest wait for a claimed task, and interval of checks. */
const CLAIM_WITHIN_MS = 20_000
const LOOK_CLAIM_MS = 10

/** How long a call may wait, until its job is taken out of the queue, and half a second more. */
const CALL_MS = 15_750

/**
 * All email workers are killed while batches arrive and calls are made, and are away for a while.
 * The queues must not fill: there is at most one job for each task that the workers had room for,
 * however long, and one for each call that waits.
 */
export function workersAway(awayMs: number): Scenario {
  return {
    what: `all email workers killed, and away for ${awayMs / 1_000} s`,
    happen: async (place) => {
      const workers = place.service.workers.filter(({ name }) => name.startsWith('email'))
      const { email } = await readRoom(place.service.db, DEFAULT_ROOM)
      await untilClaimed(place)
      await Promise.all(workers.map((worker) => worker.kill()))
      const watched = await watchJobs(place, awayMs)
      await Promise.all(workers.map((worker) => worker.restart()))
      return judgeJobs(watched, email.slots + email.reserve)
    },
  }
}

/** Waits until a worker has a task, so that one dies with work in hand. */
async function untilClaimed({ service }: LabTarget): Promise<void> {
  const untilMs = performance.now() + CLAIM_WITHIN_MS
  while (performance.now() < untilMs) {
    const { rowCount } = await service.db.pool.query(
      'select from tasks where claimed and lease_until is not null limit 1',
    )
    if ((rowCount ?? 0) > 0) return
    await wait(LOOK_CLAIM_MS)
  }
  throw new Error('no worker has claimed a task')
}

/** Jobs while workers were away. */
interface WatchedJobs {
  /** At most, by the kind of queue. */
  readonly most: { tasks: number; calls: number; stages: number }
  /** Tasks of which there were two jobs at once. */
  readonly doubled: Set<string>
}

async function watchJobs(place: LabTarget, forMs: number): Promise<WatchedJobs> {
  await using reader = openJobReader(place)
  const most = { tasks: 0, calls: 0, stages: 0 }
  const doubled = new Set<string>()
  const endMs = performance.now() + forMs
  while (performance.now() < endMs) {
    const jobs = Map.groupBy(await reader.read(), ({ queue }) => kindOf(queue))
    for (const kind of KINDS) most[kind] = Math.max(most[kind], jobs.get(kind)?.length ?? 0)
    for (const [task, { length }] of Map.groupBy(jobs.get('tasks') ?? [], taskOf)) {
      if (length > 1) doubled.add(task)
    }
    await wait(Math.min(LOOK_MS, Math.max(0, endMs - performance.now())))
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
): { readonly seen: readonly string[]; readonly wrong: readonly string[] } {
  const calls = Math.ceil((CALLS_A_SECOND * CALL_MS) / 1_000)
  const wrong: string[] = []
  if (most.tasks > room) wrong.push(`TOO MANY jobs of tasks: ${most.tasks}, ${room} may be`)
  if (most.calls > calls) wrong.push(`TOO MANY jobs of calls: ${most.calls}, ${calls} may be`)
  if (doubled.size > 0) wrong.push(`SENT AGAIN while a job was there: ${[...doubled].join(', ')}`)
  const seen = `at most ${most.tasks} jobs of tasks (${room} may be), ${most.calls} of calls (${calls}), ${most.stages} of stages`
  return { seen: [seen], wrong }
}
