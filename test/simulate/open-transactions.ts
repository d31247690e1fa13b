import type { Db } from '@plumbline/db/database'
import type { Member } from './service.ts'

/** Virtual milliseconds for which a transaction, with its locks, may stay open between two statements. */
const OPEN_WITHIN_MS = 5_000

/** Finds transactions that stay open between two statements for too long. */
export interface TransactionWatch {
  /** Checks at a virtual time; returns a sentence about one that was open for too long, if any. */
  check(nowMs: number): Promise<string | undefined>
}

/** Watches the transactions of processes that are neither dead nor suspended. */
export function watchTransactions(db: Db, members: () => readonly Member[]): TransactionWatch {
  /** By connection and last statement: the virtual time since which it has been idle in its transaction. */
  let seen = new Map<string, number>()
  return {
    check: async (nowMs) => {
      const going = members().filter(({ owner }) => !owner.isDead && owner.frozenUntilMs <= nowMs)
      const nameOf = new Map(
        going.flatMap(({ owner, postgres }) => postgres.ports().map((port) => [port, owner.name])),
      )
      const { rows } = await db.pool.query<{ port: number; since: string }>({
        name: 'simulation.open',
        text: `
          select client_port as port, state_change::text as since from pg_stat_activity
          where state like 'idle in transaction%' and client_port = any($1::int[])`,
        values: [[...nameOf.keys()]],
      })
      const before = seen
      seen = new Map()
      for (const { port, since } of rows) {
        const sinceMs = before.get(`${port} ${since}`) ?? nowMs
        seen.set(`${port} ${since}`, sinceMs)
        if (nowMs - sinceMs <= OPEN_WITHIN_MS) continue
        const program = nameOf.get(port)?.split('-', 1)[0]
        return `a transaction of ${program} stayed open, with its locks, while it waited for something else`
      }
      return undefined
    },
  }
}
