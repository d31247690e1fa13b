/**
 * States of a task. A task has no column for its state: it follows from its lease and its group.
 *
 * ```
 *   created ──> pending ──────────> leased ──> done (the row is gone)
 *                  ^                 │  │
 *                  ├── returned ─────┘  │
 *                  │   or lease ran out │
 *              batch is canceled        │ the same, with a group
 *                  │                    v
 *   created ──> waiting <───────────────┘
 *                  └─────────────> leased
 * ```
 *
 * A task that stays after a part of its subjects was answered keeps its lease; subjects that have to wait
 * come back as new tasks, `waiting` in their group.
 */
export const TASK_STATES = ['pending', 'waiting', 'leased'] as const
/** A state of a task. */
export type TaskState = (typeof TASK_STATES)[number]

/** The legal moves. A task may end in any state: its row is deleted. */
export const TASK_MOVES: Readonly<Record<TaskState, readonly TaskState[]>> = {
  pending: ['leased'],
  waiting: ['leased', 'pending'],
  leased: ['pending', 'waiting'],
}

/** States in which a task may be created. */
export const NEW_TASK_STATES: readonly TaskState[] = ['pending', 'waiting']

/**
 * Whether a row of `tasks` is in a state, as a condition on its columns.
 * @param row name or alias of the row in the statement
 */
export function isTask(state: TaskState, row: string): string {
  switch (state) {
    case 'pending':
      return `${row}.lease_until is null and ${row}.group_key is null`
    case 'waiting':
      return `${row}.lease_until is null and ${row}.group_key is not null`
    case 'leased':
      return `${row}.lease_until is not null`
  }
}
