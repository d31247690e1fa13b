import { sql } from 'kysely'
import { CHECKS, type Check, type Depth } from '@plumbline/contract/products'
import { queriesOf, type Db, type Tx } from '../database.ts'
import { INTAKE_STATES, sqlStates, STAGE_STATES } from './states.ts'
import { isTask } from './task-states.ts'

/** Kinds of inconsistent state that the reconciler looks for. */
export type FindingKind =
  | 'batch_without_file'
  | 'chunk_without_task'
  | 'hold_of_ended_batch'
  | 'lease_without_end'
  | 'rest_without_end'
  | 'result_without_file'
  | 'task_without_group'

/**
 * Maximum number of findings of one kind that a search returns, in a stable order, mostly the
 * oldest first: so those that are repaired next have been known for a minute by then.
 */
export const MOST_FINDINGS = 10_000

/** Maximum number of findings of one kind that are repaired in one round. */
const MOST_REPAIRED = 2_000

/** Maximum number of files that one search checks in the store. */
export const MOST_FILES = 100

/** Longer than any delay: only a jump of the clock leaves such times. */
const BEYOND_HOURS = 24

/** Seconds that a batch may wait for intake before its file is checked in the store. */
const UNREAD_SECONDS = 60

/**
 * Batches whose own file was not read yet, with its storage key; batches made from another batch
 * have no file.
 */
export async function unreadBatches(
  db: Db,
): Promise<readonly { readonly id: string; readonly sourceKey: string }[]> {
  const { rows } = await sql<{ id: string; sourceKey: string }>`
    select id, source_key as "sourceKey" from batches
    where status in ${sql.raw(sqlStates(INTAKE_STATES))} and not read_whole and origin_kind is null
      and not is_lookup and sample_of is null
      and (ats->>status)::timestamptz < clock_timestamp() - ${UNREAD_SECONDS} * interval '1 s'
    order by created_at limit ${MOST_FILES}
  `.execute(queriesOf(db))
  return rows
}

/** Open chunks of running batches that have no task, as `batch/number`, the oldest batch first. */
export async function chunksWithoutTask(db: Db): Promise<readonly string[]> {
  const { rows } = await sql<{ subject: string }>`
    select c.batch_id || '/' || c.no as subject
    from batches b join chunks c on c.batch_id = b.id and c.settled_at is null
    where b.status = 'running' and (b.tasks_from is null or c.no < b.tasks_from)
      and not exists (select from tasks t where t.batch_id = c.batch_id and t.chunk_no = c.no)
    order by b.created_at, c.batch_id, c.no limit ${MOST_FINDINGS}
  `.execute(queriesOf(db))
  return rows.map(({ subject }) => subject)
}

/**
 * Locks a chunk without a task and creates the tasks for subjects without an outcome.
 *
 * @returns how many subjects they hold; undefined if the chunk needs none by now
 */
export async function createMissingTasks(
  tx: Tx,
  batchId: string,
  no: number,
  depth: Depth,
): Promise<number | undefined> {
  const chunk = await tx
    .selectFrom('chunks')
    .select(CHECKS.map((check) => `${check}_count` as const))
    .where('batch_id', '=', batchId)
    .where('no', '=', no)
    .where('settled_at', 'is', null)
    .where(sql<boolean>`not exists (select from tasks t
      where t.batch_id = chunks.batch_id and t.chunk_no = chunks.no)`)
    .forNoKeyUpdate()
    .executeTakeFirst()
  if (chunk === undefined) return undefined
  let missing = 0
  for (const check of CHECKS) {
    missing += await createMissingOfCheck(tx, {
      batchId,
      no,
      depth,
      check,
      count: chunk[`${check}_count`],
    })
  }
  await sql`update chunks set remaining = ${missing} where batch_id = ${batchId} and no = ${no}`.execute(
    tx,
  )
  return missing
}

async function createMissingOfCheck(
  tx: Tx,
  { batchId, no, depth, check, count }: MissingOf,
): Promise<number> {
  const { rows } = await sql<{ size: number }>`
    insert into tasks (batch_id, account_id, mode, check_kind, depth, chunk_no, indexes, size)
    select b.id, b.account_id, b.mode, ${check}, ${depth}, ${no}, m.indexes, cardinality(m.indexes)
    from batches b, (
      select array_agg(i order by i) as indexes from generate_series(0, ${count}::int - 1) i
      where not exists (select from parts p
        where p.batch_id = ${batchId} and p.chunk_no = ${no} and p.check_kind = ${check}
          and (p.indexes is null or i = any(p.indexes)))) m
    where b.id = ${batchId} and m.indexes is not null
    returning size
  `.execute(tx)
  return rows[0]?.size ?? 0
}

interface MissingOf {
  readonly batchId: string
  readonly no: number
  readonly depth: Depth
  readonly check: Check
  readonly count: number
}

/**
 * Batches and tasks whose leases end too late, as after a jump of the clock: `batch:id` and
 * `task:id`.
 *
 * @param beyondMs milliseconds from now within which every lease should end
 */
export async function leasesWithoutEnd(db: Db, beyondMs: number): Promise<readonly string[]> {
  const { rows } = await sql<{ subject: string }>`
    (select 'batch:' || id as subject from batches
     where status in ${sql.raw(sqlStates(STAGE_STATES))}
       and lease_until > clock_timestamp() + ${beyondMs} * interval '1 ms'
     order by lease_until, id limit ${MOST_FINDINGS})
    union all
    (select 'task:' || id from tasks
     where lease_until > clock_timestamp() + ${beyondMs} * interval '1 ms'
     order by lease_until, id limit ${MOST_FINDINGS})
  `.execute(queriesOf(db))
  return rows.map(({ subject }) => subject)
}

/** Ends such a lease now. Its holder, if alive, renews the lease or learns that it is lost. */
export async function endLease(db: Db, subject: string, beyondMs: number): Promise<boolean> {
  const [what, id = ''] = subject.split(':', 2)
  const table = sql.table(what === 'batch' ? 'batches' : 'tasks')
  const { rows } = await sql`
    update ${table} set lease_until = clock_timestamp()
    where id::text = ${id}
      and lease_until > clock_timestamp() + ${beyondMs} * interval '1 ms'
    returning 1
  `.execute(queriesOf(db))
  return rows.length > 0
}

/** SQL: that time; a subquery, so that an index finds what is later, and nothing else is read. */
const BEYOND = sql`(select clock_timestamp() + ${sql.lit(BEYOND_HOURS)} * interval '1 hour')`

/** Tasks delayed for days and groups not due for days, as after a jump of the clock. */
export async function delaysWithoutEnd(db: Db): Promise<readonly string[]> {
  const { rows } = await sql<{ subject: string }>`
    (select 'task:' || t.id as subject
     from batches b cross join lateral (
       select id, due_at from tasks
       where batch_id = b.id and lease_until is null
         and due_at > ${BEYOND}
       order by due_at, id limit ${MOST_FINDINGS}) t
     where b.status = 'running'
     order by b.created_at, b.id, t.due_at, t.id limit ${MOST_FINDINGS})
    union all
    (select 'group:' || check_kind || ':' || group_key from task_groups
     where greatest(next_at, quiet_until) > ${BEYOND}
     order by greatest(next_at, quiet_until), check_kind, group_key limit ${MOST_FINDINGS})
  `.execute(queriesOf(db))
  return rows.map(({ subject }) => subject)
}

/** Tasks and groups of which one statement ends the delay, and tasks of each batch among them. */
const MOST_DELAYS = { inAll: 10_000, ofBatch: 1_000 } as const

/**
 * Makes such groups and tasks due now, in statements of bounded size that serve all batches alike.
 * After a jump of the clock there may be a million; one by one they would take hours.
 *
 * @returns how many; more are left if the signal has stopped it
 */
export async function endDelays(db: Db, signal: AbortSignal | undefined): Promise<number> {
  const statements = [
    sql`
      update task_groups set next_at = clock_timestamp(), quiet_until = clock_timestamp()
      where ctid = any(array(select ctid from task_groups
        where greatest(next_at, quiet_until) > ${BEYOND}
        limit ${MOST_DELAYS.inAll} for no key update skip locked))`,
    sql`
      update tasks set due_at = clock_timestamp()
      where id = any(array(select t.id from batches b cross join lateral (
          select id from tasks where batch_id = b.id and lease_until is null and due_at > ${BEYOND}
          limit ${MOST_DELAYS.ofBatch} for no key update skip locked) t
        where b.status = 'running' limit ${MOST_DELAYS.inAll}))`,
  ]
  let count = 0
  for (const statement of statements) {
    let ended: number
    do {
      if (signal?.aborted === true) return count
      ended = Number((await statement.execute(queriesOf(db))).numAffectedRows ?? 0)
      count += ended
    } while (ended > 0)
  }
  return count
}

/** Waiting tasks whose group does not exist. */
export async function tasksWithoutGroup(db: Db): Promise<readonly string[]> {
  const { rows } = await sql<{ subject: string }>`
    select t.id::text as subject from tasks t
    where ${sql.raw(isTask('waiting', 't'))} and not exists (select from task_groups g
      where g.check_kind = t.check_kind and g.group_key = t.group_key)
    order by t.id limit ${MOST_FINDINGS}
  `.execute(queriesOf(db))
  return rows.map(({ subject }) => subject)
}

/** Creates the group of such a task. */
export async function makeGroup(db: Db, taskId: string): Promise<boolean> {
  const { rows } = await sql`
    insert into task_groups (check_kind, group_key, next_at)
    select check_kind, group_key, clock_timestamp() from tasks t
    where t.id = ${taskId}::bigint and ${sql.raw(isTask('waiting', 't'))}
    on conflict do nothing returning 1
  `.execute(queriesOf(db))
  return rows.length > 0
}

/** Records an inconsistency that was noticed outside of a search; the next search checks it. */
export async function noteFinding(db: Db, kind: FindingKind, subject: string): Promise<void> {
  await sql`
    insert into reconciler_findings (kind, subject) values (${kind}, ${subject})
    on conflict do nothing
  `.execute(queriesOf(db))
}

/** Kinds with findings of an earlier search. */
export async function kindsWithFindings(db: Db): Promise<ReadonlySet<FindingKind>> {
  const { rows } = await sql<{ kind: FindingKind }>`
    select distinct kind from reconciler_findings
  `.execute(queriesOf(db))
  return new Set(rows.map(({ kind }) => kind))
}

/**
 * Stores the findings of a search and deletes those that it did not find any more.
 *
 * @returns findings that have lasted long enough to be repaired, in the order given, as many as one
 * round repairs
 */
export async function storeFindings(
  db: Db,
  kind: FindingKind,
  subjects: readonly string[],
  graceMs: number,
): Promise<readonly string[]> {
  const { rows } = await sql<{ subject: string }>`
    with found as (
      select subject, place from unnest(${[...subjects]}::text[]) with ordinality f(subject, place)
    ), gone as (
      delete from reconciler_findings f
      where f.kind = ${kind} and not exists (select from found where found.subject = f.subject)
    ), noted as (
      insert into reconciler_findings as f (kind, subject) select ${kind}, subject from found
      on conflict (kind, subject) do update set seen_at = excluded.seen_at
      -- Since before the clock went back: seen from now on.
      where f.seen_at > excluded.seen_at
    )
    select f.subject from reconciler_findings f join found on found.subject = f.subject
    where f.kind = ${kind} and f.seen_at <= clock_timestamp() - ${graceMs} * interval '1 ms'
    order by found.place limit ${MOST_REPAIRED}
  `.execute(queriesOf(db))
  return rows.map(({ subject }) => subject)
}

/** Counts repaired findings, and removed files that no batch referenced. */
export async function countRepairs(
  db: Db,
  kind: FindingKind | 'stray_file',
  count = 1,
): Promise<void> {
  await sql`
    insert into reconciler_counts as c (kind, healed_count) values (${kind}, ${count})
    on conflict (kind) do update set healed_count = c.healed_count + excluded.healed_count
  `.execute(queriesOf(db))
}

/** How often each kind was repaired since the installation began. */
export async function readRepairs(
  db: Db,
): Promise<readonly { readonly kind: string; readonly count: number }[]> {
  const { rows } = await sql<{ kind: string; count: number }>`
    select kind, healed_count as count from reconciler_counts order by kind
  `.execute(queriesOf(db))
  return rows
}
