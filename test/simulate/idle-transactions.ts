import type { Db } from '@plumbline/db/database'
import type { FaultProxy } from './fault-proxy.ts'

/** Ends transactions whose process cannot be heard, as Postgres does after the session's limit. */
export interface IdleTransactions {
  /** Ends those that have been idle for too long at a virtual time. */
  end(nowMs: number): Promise<void>
}

/**
 * The limit of Postgres itself is in real time. Processes that can be heard are left alone: time stands
 * still while they execute a statement, and what they keep open is watched by `watchTransactions`.
 */
export function watchIdleTransactions(db: Db, proxies: readonly FaultProxy[]): IdleTransactions {
  /** By process and last statement: the virtual time since which it has been idle in its transaction. */
  let seen = new Map<string, number>()
  return {
    end: async (nowMs) => {
      const limits = new Map(
        proxies.flatMap((proxy) =>
          proxy.unheard().map(({ port, idleLimitMs }) => [port, idleLimitMs] as const),
        ),
      )
      const before = seen
      seen = new Map()
      if (limits.size === 0) return
      const { rows } = await db.pool.query<{ pid: number; port: number; since: string }>({
        name: 'simulation.idle',
        text: `
          select pid, client_port as port, state_change::text as since from pg_stat_activity
          where state like 'idle in transaction%' and client_port = any($1::int[])`,
        values: [[...limits.keys()]],
      })
      for (const { pid, port, since } of rows) {
        const key = `${port} ${since}`
        const sinceMs = before.get(key) ?? nowMs
        seen.set(key, sinceMs)
        if (nowMs - sinceMs > (limits.get(port) ?? Infinity))
          await db.pool.query('select pg_terminate_backend($1)', [pid])
      }
    },
  }
}
