import type { Check } from '@plumbline/contract/products'
import { openTestDatabase } from '@plumbline/testkit/database'
import type { Db } from '../database.ts'

/**
 * A database with two accounts and a batch of each, running unless another state is given; the
 * tests insert the tasks.
 */
export async function openTwoAccounts(
  status: 'analyzing' | 'running' = 'running',
): Promise<AsyncDisposable & { readonly db: Db }> {
  await using stack = new AsyncDisposableStack()
  const db = stack.use(await openTestDatabase(3))
  await db.pool.query(`
    insert into accounts (id, email, plan) values ('a', 'a@b.example', 'pro'), ('b', 'b@b.example', 'pro');
    insert into batches (id, account_id, mode, product, status, explain, charge_unknown, auto_start,
      retention_days, requested, source_key, file_bytes, ats)
    select 'bat_' || a.id, a.id, 'live', 'email', 'analyzing', false, true, true, 30, '{}', 'u', 1, '{}'
    from accounts a;
    update batches set status = '${status}'`)
  const owned = stack.move()
  return { db, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

/** Columns of a task that a test sets; the others are the same for all. */
export interface TaskColumns {
  readonly account?: 'a' | 'b'
  readonly check?: Check
  readonly chunk?: number
  readonly group?: string
  /** Minutes from now. */
  readonly due?: number
  readonly attempts?: number
}

/** Inserts a task and returns its id. */
export async function add(db: Db, task: TaskColumns = {}): Promise<number> {
  const { account = 'a', check = 'email', chunk = 0, group = null, due = null } = task
  const { rows } = await db.pool.query<{ id: number }>(
    `insert into tasks (batch_id, account_id, mode, check_kind, depth, chunk_no, size, group_key,
       due_at, attempts)
     values ('bat_' || $1, $1, 'live', $2, 'full', $3, 1, $4, now() + $5::int * interval '1 min', $6)
     returning id`,
    [account, check, chunk, group, due, task.attempts ?? 0],
  )
  return rows[0]?.id ?? 0
}

/** Leases a task until this many minutes from now. */
export async function lease(db: Db, id: number, minutes: number): Promise<void> {
  await db.pool.query(
    `update tasks set lease = lease + 1, lease_until = clock_timestamp() + $2::int * interval '1 min'
     where id = $1`,
    [id, minutes],
  )
}

/** The ids of the rows that a statement returned. */
export const idsOf = (rows: readonly Record<string, unknown>[]): unknown[] =>
  rows.map(({ id }) => id)
