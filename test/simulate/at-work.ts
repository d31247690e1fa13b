import type { Db } from '@plumbline/db/database'
import type { Member } from './service.ts'

/** Requests that have been under way for so long are asked after, by the time of this machine. */
const ASK_AFTER_MS = 30

/** What is under way for longer is not waited for, whatever it is. */
const LONGEST_MS = 10_000

/** What Node calls a file that is read or written, and a connection that is being made. */
const IN_HAND = /^(?:FSReq|TCPConnectWrap)/

/**
 * Whether a process that can go on has something under way, for which time stands still: a busy
 * machine is not taken for a slow service. A statement that waits for a lock is none: who holds it
 * may wait for time to pass.
 */
export async function isAtWork(
  db: Db,
  members: readonly Member[],
  virtualMs: number,
): Promise<boolean> {
  const going = members.filter(({ owner }) => !owner.isDead && owner.frozenUntilMs <= virtualMs)
  const nowMs = Date.now()
  const isCounted = ({ sinceMs }: { readonly sinceMs: number }): boolean =>
    nowMs - sinceMs < LONGEST_MS
  if (going.some(({ redis }) => redis?.underWay().some(isCounted) === true)) return true
  const statements = going.flatMap(({ postgres }) => postgres.underWay()).filter(isCounted)
  if (statements.some(({ sinceMs }) => nowMs - sinceMs < ASK_AFTER_MS)) return true
  if (statements.length > 0) return await isWorkedOn(db, statements)
  return process.getActiveResourcesInfo().some((name) => IN_HAND.test(name))
}

/** Whether the server works on one of these, or does not know of it yet. */
async function isWorkedOn(
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
