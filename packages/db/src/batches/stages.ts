import { sql, type RawBuilder, type Updateable } from 'kysely'
import { preparedAs, queriesOf, type Db, type Tx } from '../database.ts'
import type { BatchesTable } from '../tables/batches.ts'
import { NOW_TEXT, type BatchRow } from './rows.ts'
import { sqlStates, STAGE_STATES } from './states.ts'

/** A leased or claimed stage of a batch, by the fencing number that its writes must carry. */
export interface StageFence {
  readonly batchId: string
  readonly lease: number
}

/** A stage to work on: reading the rows, or writing the result. */
export interface Stage extends StageFence {
  readonly stage: 'intake' | 'finish'
}

/** SQL: whether a batch has a stage; its states as literals, for which there is an index. */
const HAS_STAGE = sql.raw(`status in ${sqlStates(STAGE_STATES)}`)

/**
 * Moves a running batch to `finalizing` if none of its chunks is open. If its result is being
 * written early, the writer keeps its lease. To be called after the commit that settled a chunk: of
 * several at once the last one sees that all are settled.
 */
export async function closeFinishedBatch(db: Db | Tx, batchId: string): Promise<void> {
  await closeFinished(db, preparedAs('batches.close'), sql`b.id = ${batchId}`)
}

/** As `closeFinishedBatch`, for every batch: for those whose worker died between the two. */
export async function closeFinishedBatches(db: Db | Tx): Promise<void> {
  await closeFinished(db, preparedAs('batches.close-all'), sql`true`)
}

async function closeFinished(
  db: Db | Tx,
  name: RawBuilder<unknown>,
  which: RawBuilder<unknown>,
): Promise<void> {
  await sql`
    ${name}
    update batches b
    set status = 'finalizing', stage_attempts = 0,
        ats = ats || jsonb_build_object('finalizing', ${NOW_TEXT})
    where ${which} and b.status = 'running' and b.tasks_from is null
      and not exists (select 1 from chunks c where c.batch_id = b.id and c.settled_at is null)
  `.execute(queriesOf(db))
}

/** Number of attempts at a stage that follow each other without delay. */
const TRIES_AT_ONCE = 2

/** Longest delay between two attempts at a stage that keeps failing: an hour, in milliseconds. */
const MAX_DELAY_MS = 3_600_000

/** Bytes of a file up to which reading it is short; packed ones hold some 16 MB at most. */
export const SHORT_FILE_BYTES = 131_072

/** Rows up to which reading the rows of another batch, and writing a result, is short. */
const SHORT_ROWS = 10_000

/** Whether a batch is made from the rows of a large one: its own file is only a note of that. */
const READS_MANY = `exists (select from batches o
  where o.id = batches.origin_id and o.rows_total > ${SHORT_ROWS})`

/**
 * Whether the stage of a batch takes long: reading a large file or the rows of a large batch (also
 * after a cancel, as its result has every row), or writing a large result.
 */
const IS_LONG = sql<boolean>`${sql.raw(`case when not read_whole
  then file_bytes > ${SHORT_FILE_BYTES} or ${READS_MANY} else rows_total > ${SHORT_ROWS} end`)}`

/**
 * Whether the first stage of a new batch takes long.
 *
 * @param originRows rows of the batch that it is made from; 0 if it has a file of its own
 */
export function isLongIntake(fileBytes: number, originRows: number): boolean {
  return fileBytes > SHORT_FILE_BYTES || originRows > SHORT_ROWS
}

/** Short stages that one round leases at most. */
const SHORT_STAGES_A_ROUND = 100

/**
 * Leases the stages that no worker has, by database time, in turn by account, so that no account's
 * files wait for all of another's: the long ones among themselves, and so the short ones. A stage
 * whose lease ran out is not among them until that lease is given up, as its job may still wait in
 * its queue.
 *
 * @param longStages long stages leased at once, at most
 * @returns the leased stages in their turn
 */
export async function leaseStages(
  db: Db | Tx,
  leaseMs: number,
  longStages = SHORT_STAGES_A_ROUND,
): Promise<readonly Stage[]> {
  const { rows } = await sql<{ id: string; status: string; lease: number }>`
    ${preparedAs('stages.lease')}
    with stages as (
      select id, account_id, created_at, ${IS_LONG} as is_long, lease_until is null as is_due,
        lease_until > clock_timestamp() as is_leased
      from batches where ${HAS_STAGE}
    ), leased as (
      select account_id, is_long, count(*)::int as stage_count from stages
      where is_leased group by account_id, is_long
    ), in_turn as (
      select s.id, s.is_long, s.created_at, coalesce(l.stage_count, 0) + row_number() over (
        partition by s.account_id, s.is_long order by s.created_at) as turn_no
      from stages s left join leased l on l.account_id = s.account_id and l.is_long = s.is_long
      where s.is_due
    ), chosen as (
      (select id, turn_no, created_at from in_turn where not is_long
       order by turn_no, created_at limit ${SHORT_STAGES_A_ROUND})
      union all
      (select id, turn_no, created_at from in_turn where is_long
       order by turn_no, created_at limit greatest(0, ${longStages}::int
         - (select coalesce(sum(stage_count), 0) from leased where is_long)))
    ), taken as (
      update batches
      set lease = lease + 1, lease_until = clock_timestamp() + ${leaseMs} * interval '1 ms'
      where id in (
        select id from batches
        where id in (select id from chosen) and ${HAS_STAGE} and lease_until is null
        for update skip locked
      )
      returning id, status, lease
    )
    select t.id, t.status, t.lease from taken t join chosen c on c.id = t.id
    order by c.turn_no, c.created_at
  `.execute(queriesOf(db))
  return rows.map(stageOf)
}

/**
 * Lapsed leases that one round looks at, at most, since it asks the queue for each. The others are
 * left for the next rounds.
 */
const LAPSED_A_ROUND = 20

/**
 * Stages whose lease ran out, claimed or not, the longest ago first. From the third attempt on they
 * follow after a delay that doubles: a full disk, and a batch that kills its workers, take time.
 */
export async function readLapsedStages(db: Db | Tx, leaseMs: number): Promise<readonly Stage[]> {
  const { rows } = await sql<{ id: string; status: string; lease: number }>`
    ${preparedAs('stages.lapsed')}
    select id, status, lease from batches
    where ${HAS_STAGE} and lease_until < clock_timestamp()
      - least(${MAX_DELAY_MS}, ${leaseMs} * (power(2, least(20, greatest(0,
        stage_attempts - ${TRIES_AT_ONCE}))) - 1)) * interval '1 ms'
    order by lease_until limit ${LAPSED_A_ROUND}
  `.execute(queriesOf(db))
  return rows.map(stageOf)
}

/** Extends lapsed leases of stages whose jobs still wait in their queue. */
export async function renewLapsedStages(
  db: Db | Tx,
  stages: readonly Stage[],
  leaseMs: number,
): Promise<void> {
  await changeLapsed(db, stages, leaseMs)
}

/** Ends lapsed leases of stages whose jobs are lost, so that they are leased again in their turn. */
export async function returnLapsedStages(db: Db | Tx, stages: readonly Stage[]): Promise<void> {
  await changeLapsed(db, stages, null)
}

/** A lease that its worker has renewed meanwhile stays; locked ones are left for a later round. */
async function changeLapsed(
  db: Db | Tx,
  stages: readonly Stage[],
  leaseMs: number | null,
): Promise<void> {
  if (stages.length === 0) return
  await sql`
    ${preparedAs('stages.change-lapsed')}
    update batches set lease_until = clock_timestamp() + ${leaseMs}::int * interval '1 ms'
    where id = any(array(
      select b.id from batches b
        join unnest(${stages.map(({ batchId }) => batchId)}::text[],
          ${stages.map(({ lease }) => lease)}::int[]) as s(id, lease)
          on s.id = b.id and s.lease = b.lease
      where ${HAS_STAGE} and b.lease_until < clock_timestamp()
      for no key update of b skip locked))
  `.execute(queriesOf(db))
}

function stageOf(row: { id: string; status: string; lease: number }): Stage {
  return {
    batchId: row.id,
    stage: row.status === 'analyzing' ? 'intake' : 'finish',
    lease: row.lease,
  }
}

/** Whether the current stage of a batch takes long; false for one without a stage. */
export async function isLongStage(db: Db | Tx, batchId: string): Promise<boolean> {
  const { rows } = await sql`
    ${preparedAs('stages.is-long')}
    select 1 from batches where id = ${batchId} and ${HAS_STAGE} and ${IS_LONG}
  `.execute(queriesOf(db))
  return rows.length === 1
}

/** Whether an account has a batch in a stage that takes long. */
export async function hasLongStage(db: Db | Tx, accountId: string): Promise<boolean> {
  const { rows } = await sql`
    ${preparedAs('stages.has-long')}
    select 1 from batches where account_id = ${accountId} and ${HAS_STAGE} and ${IS_LONG} limit 1
  `.execute(queriesOf(db))
  return rows.length === 1
}

/**
 * Claims a leased stage and counts the attempt. Returns the fencing number that all its writes must
 * carry, or undefined if another worker has the stage (the job was delivered twice, or the lease
 * ran out).
 */
export async function claimStage(
  db: Db | Tx,
  stage: StageFence,
  leaseMs: number,
): Promise<number | undefined> {
  const { rows } = await sql<{ lease: number }>`
    update batches
    set lease = lease + 1, stage_attempts = stage_attempts + 1,
        lease_until = clock_timestamp() + ${leaseMs} * interval '1 ms'
    where id = ${stage.batchId} and lease = ${stage.lease} and ${HAS_STAGE}
    returning lease
  `.execute(queriesOf(db))
  return rows[0]?.lease
}

/**
 * Claims the oldest running batch of at least the given number of rows, to write its result early.
 * Each batch is claimed once only: `stage_attempts` records that until the batch changes its state.
 */
export async function claimRunning(
  db: Db | Tx,
  leastRows: number,
  leaseMs: number,
): Promise<StageFence | undefined> {
  const { rows } = await sql<{ id: string; lease: number }>`
    update batches
    set lease = lease + 1, stage_attempts = 1,
        lease_until = clock_timestamp() + ${leaseMs} * interval '1 ms'
    where id = (
      select id from batches
      where status = 'running' and stage_attempts = 0 and rows_total >= ${leastRows}
      order by created_at limit 1
      -- Transactions that store outcomes always lock its key; this lock does not wait for them.
      for no key update skip locked
    )
    returning id, lease
  `.execute(queriesOf(db))
  const [row] = rows
  return row === undefined ? undefined : { batchId: row.id, lease: row.lease }
}

/** Ends the lease of a stage, so that it is leased again in its turn; an attempt stays counted. */
export async function abandonStage(db: Db | Tx, stage: StageFence): Promise<void> {
  await sql`
    update batches set lease_until = null where id = ${stage.batchId} and lease = ${stage.lease}
  `.execute(queriesOf(db))
}

/**
 * Postpones the finish stage of a canceled batch, its attempt not counted: by a tenth of the time
 * since the cancel, within bounds, so that slow batches do not crowd out others. The lease is
 * released, so that a renewal in flight finds it gone.
 */
export async function postponeCanceled(
  db: Db | Tx,
  stage: StageFence,
  { leastMs, mostMs }: { readonly leastMs: number; readonly mostMs: number },
): Promise<void> {
  await sql`
    update batches
    set lease = lease + 1, stage_attempts = greatest(0, stage_attempts - 1),
      lease_until = clock_timestamp() + least(${mostMs} * interval '1 ms', greatest(
        ${leastMs} * interval '1 ms', (clock_timestamp() - (ats->>'canceling')::timestamptz) / 10))
    where id = ${stage.batchId} and lease = ${stage.lease}
  `.execute(queriesOf(db))
}

/**
 * Updates columns of a batch and releases the lease of its stage: its holder loses it, and a batch
 * in intake is read again.
 */
export async function restartIntake(
  tx: Tx,
  id: string,
  fields: Updateable<BatchesTable>,
): Promise<BatchRow> {
  return await tx
    .updateTable('batches')
    .set({ ...fields, lease: sql`lease + 1`, lease_until: null, stage_attempts: 0 })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
}

/**
 * Shortens the lease of a stage that failed so that it expires in a moment: a temporary fault does
 * not cost a whole lease. From the third attempt on the stage is delayed as after a worker that
 * died.
 */
export async function yieldStage(db: Db | Tx, stage: StageFence, delayMs: number): Promise<void> {
  await sql`
    update batches
    set lease_until = least(lease_until, clock_timestamp() + ${delayMs} * interval '1 ms')
    where id = ${stage.batchId} and lease = ${stage.lease} and stage_attempts <= ${TRIES_AT_ONCE}
      and ${HAS_STAGE}
  `.execute(queriesOf(db))
}

/** Extends a stage's lease; false if it was lost. */
export async function renewStage(
  db: Db | Tx,
  stage: StageFence,
  leaseMs: number,
): Promise<boolean> {
  const { rows } = await sql`
    update batches set lease_until = clock_timestamp() + ${leaseMs} * interval '1 ms'
    where id = ${stage.batchId} and lease = ${stage.lease}
    returning 1
  `.execute(queriesOf(db))
  return rows.length === 1
}

/** Returns a claimed stage, its attempt not counted: for a worker that shuts down. */
export async function returnStage(db: Db | Tx, stage: StageFence): Promise<void> {
  await sql`
    update batches set lease_until = null, stage_attempts = greatest(0, stage_attempts - 1)
    where id = ${stage.batchId} and lease = ${stage.lease}
  `.execute(queriesOf(db))
}
