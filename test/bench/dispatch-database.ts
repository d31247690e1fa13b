import { openDatabase, type Db } from '@plumbline/db/database'
import { migrate } from '@plumbline/db/migrate'
import { fillTables } from './fill-tables.ts'
import { startPostgres } from './servers.ts'

/** A database, and the folder of its server. */
export interface DispatchDatabase extends AsyncDisposable {
  readonly db: Db
  readonly url: string
  readonly dir: string
}

/** A database with this many running batches, of a hundred accounts at most by default. */
export async function openDispatchDatabase(
  batches: number,
  accounts = 100,
): Promise<DispatchDatabase> {
  await using stack = new AsyncDisposableStack()
  const { url, dir } = stack.use(await startPostgres())
  const db = stack.use(
    openDatabase({
      url,
      poolSize: 4,
      applicationName: 'bench',
      statementMs: 600_000,
    }),
  )
  await migrate(db)
  await db.pool.query(
    `insert into accounts (id, email, plan)
     select 'acc_' || no, no || '@b.example', 'pro' from generate_series(1, least(${batches}, ${accounts})) no`,
  )
  await fillTables(db, [
    `insert into batches (id, account_id, mode, product, status, explain, charge_unknown, auto_start,
       retention_days, requested, source_key, file_bytes, ats)
     select 'bat_' || no, 'acc_' || (no - 1) % ${accounts} + 1, 'live', 'email', 'running', false, true, true, 30,
       '{}', 'u', 1, jsonb_build_object('running', now())
     from generate_series(1, ${batches}) no`,
  ])
  const owned = stack.move()
  return { db, url, dir, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}
