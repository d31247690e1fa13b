/** A fixed fault, as a change of the sources that restores it. */
export interface PutBack {
  readonly name: string
  /** Its effect on the service. */
  readonly what: string
  /** A seed that finds it. */
  readonly seed: number
  readonly edits: readonly Edit[]
}

/** A replacement of all occurrences of a text in a file. */
export interface Edit {
  /** From the root of the project. */
  readonly file: string
  readonly from: string
  readonly to: string
}

/** Faults that the simulation must find. A test checks that they still match the sources. */
export const PUT_BACK: readonly PutBack[] = [
  {
    name: 'start-at-once',
    what: 'a start makes all tasks of a batch in one transaction',
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
    what: 'a cancel drops all tasks of a batch in one transaction',
    seed: 2,
    edits: [
      {
        file: 'packages/db/src/batches/drain.ts',
        from: 'const CHUNKS_A_DROP = 50',
        to: 'const CHUNKS_A_DROP = 1_000_000',
      },
    ],
  },
  {
    name: 'sent-again',
    what: 'a task that nobody claims goes out again while its job waits',
    seed: 1,
    edits: [
      {
        file: 'packages/pipeline/src/recall.ts',
        from: 'await keepUnclaimed(db, there, limits.leaseMs)',
        to: 'await takeBack(db, there)',
      },
    ],
  },
  {
    name: 'no-turns',
    what: 'tasks go out to one account until it has none left',
    seed: 5,
    edits: [
      {
        file: 'packages/db/src/batches/lease-tasks.ts',
        from: 'accounts_in_turn(k.check_kind, k.served,\n      k.check_kind = any($5), k.most,',
        to: "accounts_in_turn(k.check_kind, '',\n      k.check_kind = any($5), 1,",
      },
    ],
  },
  {
    name: 'reserve-each-round',
    what: 'each round hands out the reserve anew',
    seed: 1,
    edits: [
      {
        file: 'packages/db/src/batches/lease-tasks.ts',
        from: 'where r.turn_no <= r.free or (r.place = 1 and r.turn_no <= r.room)',
        to: 'where r.turn_no <= greatest(4, r.free)',
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
    what: 'a save ends its task though an earlier one was lost, and nothing searches for such',
    seed: 3,
    edits: [
      {
        file: 'packages/db/src/batches/settle.ts',
        from: 'and size = ${brought.size} returning *',
        to: 'returning *',
      },
      {
        file: 'packages/pipeline/src/reconcile.ts',
        from: 'find: ({ db }) => chunksWithoutTask(db), heal: askAgain',
        to: 'find: async () => [], heal: askAgain',
      },
    ],
  },
  {
    name: 'saved-twice',
    what: 'a save whose answer was lost counts its outcomes a second time',
    seed: 13,
    edits: [
      {
        file: 'packages/db/src/batches/settle.ts',
        from: 'and size = ${brought.size} returning *',
        to: 'returning *',
      },
    ],
  },
  {
    name: 'debits-kept',
    what: 'debits that nobody answered are never given back',
    seed: 1,
    edits: [
      {
        file: 'packages/pipeline/src/sweeps.ts',
        from: 'options.onSwept((await sweepUnanswered(db, options.debitTimeoutSeconds)).length)',
        to: 'undefined',
      },
    ],
  },
  {
    name: 'stages-in-order',
    what: 'files are read in the order in which they came, whoever handed them in and however long',
    seed: 5,
    edits: [
      {
        file: 'packages/db/src/batches/stages.ts',
        from: 'then file_bytes > ${SHORT_FILE_BYTES} else coalesce(rows_total, 0) > ${SHORT_RESULT_ROWS} end',
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
    what: 'the files of a batch are removed in the transaction that expires it',
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
