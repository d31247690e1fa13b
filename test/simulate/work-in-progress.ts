import type { Db } from '@plumbline/db/database'
import type { Member } from './service.ts'

/** Real milliseconds after which the database is asked whether a request waits for a lock. */
const ASK_AFTER_MS = 30

/** Real milliseconds after which a request no longer stops simulated time. */
const LONGEST_MS = 10_000

/** Resources of Node that stand for file operations and connections being opened. */
const IN_PROGRESS = /^(?:FSReq|TCPConnectWrap)/

/**
 * Whether a running process has work in progress for which simulated time must stand still, so that
 * a busy machine is not taken for a slow service. A statement that waits for a lock does not count:
 * the holder of the lock may be waiting for time to pass.
 */
export async function hasWorkInProgress(
  db: Db,
  members: readonly Member[],
  virtualMs: number,
): Promise<boolean> {
  const going = members.filter(({ owner }) => !owner.isDead && owner.frozenUntilMs <= virtualMs)
  const nowMs = Date.now()
  const isCounted = ({ sinceMs }: { readonly sinceMs: number }): boolean =>
    nowMs - sinceMs < LONGEST_MS
  if (going.some(({ redis }) => redis?.inFlight().some(isCounted) === true)) return true
  const statements = going.flatMap(({ postgres }) => postgres.inFlight()).filter(isCounted)
  if (statements.some(({ sinceMs }) => nowMs - sinceMs < ASK_AFTER_MS)) return true
  if (statements.length > 0) return await isServerExecuting(db, statements)
  return process.getActiveResourcesInfo().some((name) => IN_PROGRESS.test(name))
}

/** Whether the server executes one of these requests, or has not received it yet. */
async function isServerExecuting(
  db: Db,
  statements: readonly { readonly port: number | undefined }[],
): Promise<boolean> {
  const { rows } = await db.pool.query<{ waiting: number }>({
    name: 'simulation.waiting',
    text: `
      select count(*)::int as waiting from pg_stat_activity
      where client_port = any($1::int[])
        and (wait_event_type in ('Lock', 'Timeout') or coalesce(state, 'active') <> 'active')`,
    values: [statements.map(({ port }) => port ?? 0)],
  })
  return (rows[0]?.waiting ?? 0) < statements.length
}
