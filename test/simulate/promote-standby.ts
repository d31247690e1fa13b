import type { Fault } from './plan-faults.ts'
import { endSessions, openStandby, type Standby } from './standby.ts'
import { note } from './trace.ts'
import type { World } from './world-state.ts'

/** Virtual milliseconds until a standby takes over if the process does not send that many requests. */
const WITHIN_MS = 2_000

/**
 * Promotes a standby that lags: all commits of some time are lost, though processes and customers know of
 * them, and the numbers that they took are issued again. The promotion begins with a request, so that
 * transactions of all processes may be open. Resolves when it is over.
 */
export async function promoteStandby(
  world: World,
  { member, lagMs, afterRequests, numbersAhead }: Extract<Fault, { kind: 'promote' }>,
): Promise<void> {
  const { time, members, db } = world
  await world.queueEmptied
  world.isHeld = true
  const standby = await openStandby(db).finally(() => (world.isHeld = false))
  await time.wait(lagMs)
  const promoted = Promise.withResolvers<void>()
  world.takeOver = () => {
    world.takeOver = undefined
    promoted.resolve(takeOver(world, standby, numbersAhead))
  }
  members.get(member)?.postgres.arm('promote', afterRequests)
  await Promise.race([promoted.promise, time.wait(WITHIN_MS)])
  world.takeOver?.()
  await promoted.promise
}

/** Time stands still, and new connections wait, until the standby has taken over. */
async function takeOver(world: World, standby: Standby, numbersAhead: number): Promise<void> {
  const { members, setup, db, time } = world
  const { resolve, promise } = Promise.withResolvers<void>()
  world.isHeld = true
  setup.gate.open = promise
  for (const { postgres } of members.values()) {
    postgres.disarm('promote')
    postgres.cut()
  }
  const before = world.queueEmptied
  world.queueEmptied = promise
  await before
  setup.sessions.close()
  await endSessions(db, new URL(setup.databaseUrl).username)
  await standby.promote(numbersAhead)
  note(world, { promoted: true })
  world.faultMs = Math.max(world.faultMs, time.nowMs())
  world.isHeld = false
  resolve()
}
