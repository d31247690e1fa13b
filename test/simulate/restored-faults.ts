/** A fault that was fixed, and the change of the sources that restores it. */
export interface RestoredFault {
  readonly name: string
  /** The faulty behaviour. */
  readonly what: string
  /** A seed whose world fails with this fault. */
  readonly seed: number
  readonly edits: readonly Edit[]
}

/** A replacement of all occurrences of a text in a file. */
export interface Edit {
  /** Path from the root of the project. */
  readonly file: string
  readonly from: string
  readonly to: string
}

/** Fixed faults that the simulation must find when they are restored. */
export const RESTORED_FAULTS: readonly RestoredFault[] = [
  {
    name: 'start-at-once',
    what: 'starting a batch creates all of its tasks in one transaction',
    seed: 1,
    edits: [
      {
        file: 'packages/pipeline/src/start.ts',
        from: 'const CHUNKS_AT_START = 8',
        to: 'const CHUNKS_AT_START = 1_000_000',
      },
    ],
  },
  {
    name: 'cancel-at-once',
    what: 'canceling a batch deletes all of its tasks in one transaction',
    seed: 2,
    edits: [
      {
        file: 'packages/db/src/batches/drain.ts',
        from: 't.chunk_no < ${next.until}',
        to: 't.chunk_no < ${next.first + 1_000_000}',
      },
    ],
  },
  {
    name: 'sent-again',
    what: 'a task that no worker claims is enqueued again while its first job is still in the queue',
    seed: 6,
    edits: [
      {
        file: 'packages/pipeline/src/recall.ts',
        from: 'await renewUnclaimed(db, there, limits.leaseMs)',
        to: 'await returnUnclaimed(db, there)',
      },
    ],
  },
  {
    name: 'no-turns',
    what: 'all tasks of one account are dispatched before those of the next',
    seed: 5,
    edits: [
      {
        file: 'packages/db/src/batches/lease-tasks.ts',
        from: 'accounts_in_turn(k.check_kind, k.served,\n      k.check_kind = any($5), k.most,',
        to: "accounts_in_turn(k.check_kind, '',\n      k.check_kind = any($5), 1,",
      },
      {
        file: 'packages/db/src/batches/lease-tasks.ts',
        from: 'small_tasks(k.check_kind, k.room,',
        to: 'small_tasks(null, k.room,',
      },
    ],
  },
  {
    name: 'reserve-each-round',
    what: 'each round of the dispatcher uses the reserved slots again, though they are taken',
    seed: 1,
    edits: [
      {
        file: 'packages/db/src/batches/lease-tasks.ts',
        from: 'from turns where turn_no <= free',
        to: 'from turns where turn_no <= greatest(4, free)',
      },
      {
        file: 'packages/db/src/batches/lease-tasks.ts',
        from: 'having k.slots + case when k.slots = 0 then 0 else k.reserve end > coalesce(sum(b.n), 0)',
        to: 'having k.slots > 0',
      },
    ],
  },
  {
    name: 'lost-save',
    what: 'a save completes its task though an earlier save was lost, and no sweep finds such tasks',
    seed: 3,
    edits: [
      {
        file: 'packages/db/src/batches/settle.ts',
        from: 'and ${isSame} returning *',
        to: 'returning *',
      },
      {
        file: 'packages/pipeline/src/reconcile.ts',
        from: 'find: ({ db }) => chunksWithoutTask(db), repair: completeChunk',
        to: 'find: async () => [], repair: completeChunk',
      },
    ],
  },
  {
    name: 'saved-twice',
    what: 'a save that is retried since its acknowledgement was lost counts its outcomes twice',
    seed: 13,
    edits: [
      {
        file: 'packages/db/src/batches/settle.ts',
        from: 'and ${isSame} returning *',
        to: 'returning *',
      },
    ],
  },
  {
    name: 'debits-kept',
    what: 'debits of calls without a response are never refunded',
    seed: 1,
    edits: [
      {
        file: 'packages/pipeline/src/sweeps.ts',
        from: 'options.onSwept(await sweepUnanswered(db, options.debitTimeoutSeconds))',
        to: 'undefined',
      },
    ],
  },
  {
    name: 'stages-in-order',
    what: 'files are read in the order of their upload, whatever their account and length',
    seed: 5,
    edits: [
      {
        file: 'packages/db/src/batches/stages.ts',
        from: 'then file_bytes > ${SHORT_FILE_BYTES} or ${READS_MANY} else rows_total > ${SHORT_ROWS} end',
        to: 'then false else false end',
      },
      {
        file: 'services/worker/src/batch-worker.ts',
        from: 'const STAGE_CONCURRENCY = 2 * LONG_STAGES',
        to: 'const STAGE_CONCURRENCY = 2',
      },
    ],
  },
  {
    name: 'expiry-holds-locks',
    what: 'the files of an expired batch are removed within the transaction that marks it',
    seed: 4,
    edits: [
      {
        file: 'packages/pipeline/src/erase.ts',
        from: 'if (row !== undefined) await expireBatch(tx, row)',
        to: `if (row !== undefined) {
          await expireBatch(tx, row)
          await pipeline.storage.remove(filesOf(row))
        }`,
      },
    ],
  },
]
