import { sql } from 'kysely'
import type { Json } from '@plumbline/contract/outcome'
import { jsonbText } from '../jsonb.ts'
import { preparedAs, type Tx } from '../database.ts'
import type { ChunkKey } from './chunks.ts'
import { SILENCE } from './merge-waiting.ts'
import { isHeld, type TaskFence } from './tasks.ts'

/** Subjects whose outcomes must wait, with their waiting group. */
export interface WaitingSubjects {
  /** The limit that they wait for; null if they wait for a time only. */
  readonly group: string | null
  /** Reason code of the engine. */
  readonly reason: string
  /** Milliseconds from now until they are due. */
  readonly afterMs: number
  /** Whether the whole group is delayed (its limit is reached), or only these subjects. */
  readonly holdsGroup: boolean
  readonly indexes: readonly number[]
  readonly states: readonly (Json | null)[]
}

/** Outcomes of one run of a task, and the subjects that must wait. */
export interface TaskOutcomes {
  readonly task: TaskFence
  /**
   * Positions, in the chunk, of all subjects that the worker has for the task, in the task's order:
   * answered, waiting, staying and dropped ones.
   */
  readonly held: readonly number[]
  /** Positions of answered subjects in the chunk's subjects; null means all in order. */
  readonly indexes: readonly number[] | null
  readonly count: number
  readonly outcomes: Buffer
  readonly waiting: readonly WaitingSubjects[]
  /**
   * Whether the run shows that our own resolver and network work, so that the others that waited
   * for them with this task are released; else another few are tried.
   */
  readonly showsReplies: boolean
  /** Subjects that stay with the task, for a save while it runs; null ends the task. */
  readonly stays: {
    readonly indexes: readonly number[]
    readonly states: readonly (Json | null)[] | null
  } | null
}

/** Credits that a sample has paid for a chunk, and the records that it has paid for. */
export interface Prepaid {
  readonly credits: number
  readonly records: number
}

/** State of a chunk after outcomes were stored. */
export interface StoredOutcomes {
  /** Subjects without an outcome. */
  readonly remaining: number
  readonly hasErased: boolean
  readonly prepaid: Prepaid
  /**
   * Milliseconds since the last sample of the batch's pace; since the Unix epoch if there is none.
   */
  readonly paceAgeMs: number
}

/**
 * Stores a task's outcomes under its lease, stores waiting subjects as new tasks of their group,
 * and decrements the chunk's count of open subjects.
 *
 * A task may hold more subjects than its worker has: an earlier save was acknowledged by a server
 * that then failed and lost it. Those subjects stay with the task and are checked again.
 *
 * @returns the state of the chunk; undefined if the lease was lost, or the same outcomes were
 * stored before, so that a transaction whose commit is uncertain can be retried. Nothing is stored
 * then
 */
export async function storeTaskOutcomes(
  tx: Tx,
  brought: TaskOutcomes,
): Promise<StoredOutcomes | undefined> {
  const stays = brought.stays
  const held = [...brought.held]
  const isSame = sql`(indexes = ${held}::int[] or (indexes is null and size = ${held.length}))`
  const take =
    stays === null
      ? sql`delete from tasks where ${isHeld(brought.task)} and ${isSame} returning *`
      : sql`update tasks set indexes = ${[...stays.indexes]}, size = ${stays.indexes.length},
              states = ${stays.states === null ? null : jsonbText(stays.states)}::jsonb
            where ${isHeld(brought.task)} and ${isSame} returning *`
  const name = preparedAs(stays === null ? 'outcomes.store-last' : 'outcomes.store')
  const { rows } = await sql<StoredOutcomes>`
    ${name} with task as (${take}), part as (
      insert into parts (batch_id, chunk_no, check_kind, indexes, outcomes)
      select batch_id, chunk_no, check_kind,
        ${brought.indexes === null ? null : [...brought.indexes]}::int[], ${brought.outcomes}
      from task where ${brought.count} > 0
    ), waiting as (
      select * from jsonb_to_recordset(${jsonbText(brought.waiting)}::jsonb)
        as w("group" text, reason text, "afterMs" float8, "holdsGroup" boolean, indexes jsonb,
          states jsonb)
    ), again as (
      insert into tasks (batch_id, account_id, mode, check_kind, depth, chunk_no, indexes, size,
        states, group_key, due_at, reason)
      select t.batch_id, t.account_id, t.mode, t.check_kind, t.depth, t.chunk_no,
        array(select jsonb_array_elements_text(w.indexes)::int), jsonb_array_length(w.indexes),
        w.states, w."group", clock_timestamp() + w."afterMs" * interval '1 ms', w.reason
      from task t, waiting w
    ), room as (
      insert into task_groups as g (check_kind, group_key, next_at, quiet_until)
      select t.check_kind, w."group",
        clock_timestamp() + case when w."holdsGroup" then w."afterMs" else 0 end * interval '1 ms',
        clock_timestamp() + w."afterMs" * interval '1 ms'
      from task t, waiting w
      where w."group" is not null
      -- In one order, so that two arrivals cannot wait for each other.
      order by w."group"
      on conflict (check_kind, group_key) do update
      set next_at = greatest(g.next_at, excluded.next_at), opened = false,
        quiet_until = least(g.quiet_until, excluded.quiet_until),
        out_task = nullif(g.out_task, (select id from task))
    ), freed as (
      -- Groups of which this is the leased task have capacity, if none of its subjects waits there;
      -- a silent service is tried again unless it replied.
      update task_groups g set out_task = null, quiet_until = '-infinity',
        opened = ${brought.showsReplies} and g.group_key like ${`${SILENCE}%`}
      from task t
      where ${stays === null} and g.out_task = t.id
        and not exists (select from waiting w where w."group" = g.group_key)
    )
    update chunks c set remaining = remaining - ${brought.count}
    from task t where c.batch_id = t.batch_id and c.no = t.chunk_no
    returning c.remaining, c.has_erased as "hasErased",
      json_build_object('credits', c.prepaid, 'records', c.prepaid_records) as prepaid,
      (select extract(epoch from clock_timestamp()) * 1000 - coalesce((pace->-1->>'at')::float8, 0)
        from batches b where b.id = c.batch_id)::float8 as "paceAgeMs"
  `.execute(tx)
  return rows[0]
}

/**
 * Marks a chunk as settled, with its charge and verdict counts.
 *
 * @param sums `doneCount`: records with all their outcomes if a cancel left others open; else null
 */
export async function markSettled(
  tx: Tx,
  chunk: ChunkKey,
  sums: { charged: number; verdicts: readonly number[]; doneCount: number | null },
): Promise<void> {
  await sql`
    ${preparedAs('chunks.settle')}
    update chunks set settled_at = clock_timestamp(), charged = ${sums.charged},
      verdicts = ${[...sums.verdicts]}, done_count = ${sums.doneCount}
    where batch_id = ${chunk.batchId} and no = ${chunk.no} and settled_at is null
  `.execute(tx)
}
