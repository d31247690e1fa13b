import type { Fault, MemberName } from './plan-faults.ts'
import { promoteStandby } from './promote-standby.ts'
import { killMember, startMember } from './service.ts'
import { note } from './trace.ts'
import type { World } from './world-state.ts'

/** Virtual milliseconds until a process that could not start is started again. */
const RESTART_MS = 1_000

/** Virtual milliseconds: longest wait for the state in which a fault is injected, and interval of checks. */
const TRUE_WITHIN_MS = 20_000
const POLL_MS = 10

/**
 * Virtual milliseconds: longest wait for the end of a batch. The jobs of a killed worker are locked in
 * real time, of which a second may be ten in virtual time.
 */
const ENDED_WITHIN_MS = 120_000

/** Injects a fault, and resolves when it is over. */
export async function injectFault(world: World, fault: Fault): Promise<void> {
  const { time, members } = world
  note(world, { fault })
  const member = 'member' in fault ? members.get(fault.member) : undefined
  switch (fault.kind) {
    case 'kill': {
      if (member === undefined || member.owner.isDead) return
      killMember(member)
      await time.wait(fault.backMs)
      await startAgain(world, fault.member)
      return
    }
    case 'kill_claimed': {
      await untilTrue(world, CLAIMED)
      const workers = CHECK_WORKERS.filter((name) => members.get(name)?.owner.isDead === false)
      for (const name of workers) {
        const worker = members.get(name)
        if (worker !== undefined) killMember(worker)
      }
      await time.wait(fault.backMs)
      await Promise.all(workers.map((name) => startAgain(world, name)))
      return
    }
    case 'freeze':
      if (member !== undefined) member.owner.frozenUntilMs = time.nowMs() + fault.forMs
      return await time.wait(fault.forMs)
    case 'cut':
      member?.[fault.store]?.cut()
      return
    case 'connection':
      member?.postgres.arm(fault.fault, fault.afterRequests)
      return
    case 'silence':
      member?.[fault.store]?.arm(fault.fault, fault.afterRequests, fault.forMs ?? Infinity)
      return
    case 'suspend':
      member?.postgres.arm(fault.fault, fault.afterRequests, fault.forMs)
      return
    case 'promote':
      return await promoteStandby(world, fault)
    case 'step':
      world.databaseClock.step(fault.byMs)
      return
    case 'empty_queue':
      return await emptyQueue(world)
    case 'double_jobs':
      for (const { stalls } of members.values()) stalls.doubleUntilMs = time.nowMs() + fault.forMs
      return
    case 'stall_removals': {
      // From before the batch ends, since its files may be removed at once.
      stallRemovals(world, Infinity)
      await untilTrue(world, ENDED, ENDED_WITHIN_MS)
      stallRemovals(world, time.nowMs() + fault.forMs)
      return await time.wait(fault.forMs)
    }
    case 'stall_storage':
      if (member !== undefined) {
        member.stalls.storageUntilMs = time.nowMs() + fault.forMs
        member.stalls.writingUntilMs = time.nowMs() + fault.forMs
      }
      return await time.wait(fault.forMs)
  }
}

const CHECK_WORKERS = ['checks-0', 'checks-1'] as const

/** The file store removes nothing until a virtual time. */
function stallRemovals({ members }: World, untilMs: number): void {
  for (const { stalls } of members.values()) stalls.removalUntilMs = untilMs
}

/** Queries for a claimed task, and for a batch without retention that has ended. */
const CLAIMED = 'select from tasks where claimed and lease_until is not null limit 1'
const ENDED = `select from batches
  where status in ('completed', 'failed', 'canceled', 'expired') and retention_days = 0 limit 1`

/** Waits until a query returns a row, or the time is over. */
async function untilTrue(
  { db, time }: World,
  query: string,
  withinMs = TRUE_WITHIN_MS,
): Promise<void> {
  const endMs = time.nowMs() + withinMs
  while (time.nowMs() < endMs) {
    const { rowCount } = await db.pool.query(query)
    if ((rowCount ?? 0) > 0) return
    await time.wait(POLL_MS)
  }
}

/** Retries the start of a process until it runs, as a supervisor does. */
async function startAgain(world: World, name: MemberName): Promise<void> {
  const { time, members, setup } = world
  for (;;) {
    try {
      members.set(name, await startMember(setup, name))
      note(world, { back: name })
      return
    } catch (error) {
      note(world, { notBack: name, why: String(error) })
      await time.wait(RESTART_MS)
    }
  }
}

/** Loses all jobs, after earlier calls have ended: the queue can only be lost again once it was recreated. */
async function emptyQueue(world: World): Promise<void> {
  const before = world.queueEmptied
  world.queueEmptied = before.then(() => dropJobs(world))
  await world.queueEmptied
}

async function dropJobs({ queue, servers }: World): Promise<void> {
  if (queue?.redis !== undefined && queue.redis !== null) {
    await queue.redis.commands.call('FLUSHDB')
    return
  }
  const { losePostgresQueue } = await import('@plumbline/testkit/lose-queue')
  await losePostgresQueue(servers.ownerUrl)
}
