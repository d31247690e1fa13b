import { PURCHASED_CHECKS } from '@plumbline/contract/products'
import type { Db } from '../database.ts'
import type { LeasedTask } from './lease-tasks.ts'

/** A task that no worker has claimed since it was leased. */
export interface UnclaimedTask extends Pick<LeasedTask, 'taskId' | 'lease' | 'batchId' | 'check'> {
  /** Whether its batch is canceled or paused, so that it must not be run. */
  readonly halted: boolean
}

/**
 * Leased tasks that no worker has claimed within the time of a lease, and without delay those of
 * canceled or paused batches for which nothing may have been bought.
 */
export async function readUnclaimed(db: Db): Promise<readonly UnclaimedTask[]> {
  const { rows } = await db.pool.query<UnclaimedTask>({
    name: 'tasks.unclaimed',
    text: `
      select t.id as "taskId", t.lease, t.batch_id as "batchId", t.check_kind as check,
        b.status <> 'running' as halted
      from tasks t join batches b on b.id = t.batch_id
      where t.lease_until is not null and not t.claimed
        and (t.lease_until < clock_timestamp()
          or (b.status <> 'running' and t.check_kind <> all($1)))`,
    values: [PURCHASED_CHECKS],
  })
  return rows
}

/** Extends the leases of tasks whose jobs still wait in the queue. */
export async function renewUnclaimed(
  db: Db,
  tasks: readonly UnclaimedTask[],
  leaseMs: number,
): Promise<void> {
  await changeUnclaimed(db, tasks, leaseMs)
}

/** Makes tasks ready again whose jobs are lost, no attempt counted. */
export async function returnUnclaimed(db: Db, tasks: readonly UnclaimedTask[]): Promise<void> {
  await changeUnclaimed(db, tasks, null)
}

async function changeUnclaimed(
  db: Db,
  tasks: readonly UnclaimedTask[],
  leaseMs: number | null,
): Promise<void> {
  if (tasks.length === 0) return
  await db.pool.query({
    name: 'tasks.change-unclaimed',
    text: `
      update tasks t set lease_until = clock_timestamp() + $3::int * interval '1 ms'
      from unnest($1::bigint[], $2::int[]) as u(id, lease)
      where t.id = u.id and t.lease = u.lease and t.lease_until is not null and not t.claimed`,
    values: [tasks.map(({ taskId }) => taskId), tasks.map(({ lease }) => lease), leaseMs],
  })
}
