import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { LongestFirst } from './infra/test-order.ts'
import { isCi } from './packages/testkit/src/ci.ts'
import { isSoak } from './packages/testkit/src/soak.ts'

/** How long a machine that is busy with other things may keep a test waiting: bounds a failure, asserts nothing. */
const PATIENCE = {
  testTimeout: isSoak() ? 900_000 : 120_000,
  hookTimeout: 120_000,
  expect: { poll: { timeout: 30_000, interval: 20 } },
  // CI's machine may be shared with what breaks off what only time keeps apart: `npm test` names what passed again.
  retry: isCi() ? 1 : 0,
}

const WHOLE_PROCESSES = {
  ...PATIENCE,
  testTimeout: isSoak() ? 900_000 : 400_000,
  expect: { poll: { timeout: 120_000, interval: 50 } },
}

const PROCESSORS = availableParallelism()

/** More at once than there are processors, for much of the time passes with waiting. */
const SIDE_BY_SIDE = {
  maxWorkers: Math.max(6, Math.round(PROCESSORS * 1.5)),
  sequence: { groupOrder: 1 },
}

/**
 * `unit` needs nothing but Node; `db` a Postgres that the set-up starts; `integration` whole processes, beside
 * them; `timed` those that measure seconds or memory, one after the other when all else is done.
 */
export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          name: 'unit',
          include: [
            'packages/*/src/**/*.test.ts',
            'services/*/src/**/*.test.ts',
            'test/**/*.unit.test.ts',
            'infra/*.test.ts',
          ],
          exclude: ['**/*.db.test.ts', '**/node_modules/**'],
          // Loading the sources anew for each file costs more than its tests do.
          isolate: false,
          // Processes, for threads would share a heap whose size some tests look at.
          pool: 'forks',
          maxWorkers: Math.max(2, Math.min(4, PROCESSORS)),
          ...PATIENCE,
        },
      },
      {
        test: {
          name: 'db',
          include: ['packages/*/src/**/*.db.test.ts', 'services/*/src/**/*.db.test.ts'],
          globalSetup: ['packages/testkit/src/global-servers.ts'],
          // As above: a second of a processor for each file.
          isolate: false,
          // Processes, for files that run side by side each count on a Redis of their own.
          pool: 'forks',
          ...PATIENCE,
          ...SIDE_BY_SIDE,
        },
      },
      {
        test: {
          name: 'integration',
          include: ['test/integration/**/*.test.ts'],
          exclude: ['**/*.timed.test.ts'],
          globalSetup: ['packages/testkit/src/global-servers.ts'],
          ...WHOLE_PROCESSES,
          ...SIDE_BY_SIDE,
        },
      },
      {
        test: {
          name: 'timed',
          include: ['test/integration/**/*.timed.test.ts'],
          globalSetup: ['packages/testkit/src/global-servers.ts'],
          ...WHOLE_PROCESSES,
          maxWorkers: 1,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
})
