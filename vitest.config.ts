import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { freshPageMicroseconds } from './infra/fresh-memory.ts'
import { LongestFirst } from './infra/test-order.ts'
import { isSoak } from './packages/testkit/src/soak.ts'

/** Time limits that also hold on a loaded machine; no test asserts a time with them. */
const PATIENCE = {
  testTimeout: isSoak() ? 900_000 : 120_000,
  hookTimeout: 120_000,
  expect: { poll: { timeout: 30_000, interval: 60 } },
}

const WHOLE_PROCESSES = {
  ...PATIENCE,
  testTimeout: isSoak() ? 900_000 : 400_000,
  expect: { poll: { timeout: 120_000, interval: 150 } },
}

const PROCESSORS = availableParallelism()

/** Whether processes start so slowly here that the tests hardly wait for anything else. */
const STARTS_SLOWLY = freshPageMicroseconds() > 5

/** More workers than processors, since the tests wait for much of their time. */
const SIDE_BY_SIDE = {
  maxWorkers: STARTS_SLOWLY ? PROCESSORS + 1 : Math.max(6, Math.round(PROCESSORS * 1.5)),
  sequence: { groupOrder: 1 },
}

/**
 * `unit` needs only Node; `db` needs a Postgres, which its set-up starts; `integration` starts whole
 * processes. `timed` measures seconds or memory: its files run last and two at a time.
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
          // Loading the sources again for each file takes longer than its tests.
          isolate: false,
          // Processes, since threads would share a heap, whose size some tests measure.
          pool: 'forks',
          maxWorkers: Math.max(3, Math.min(4, PROCESSORS)),
          ...PATIENCE,
        },
      },
      {
        test: {
          name: 'db',
          include: ['packages/*/src/**/*.db.test.ts', 'services/*/src/**/*.db.test.ts'],
          globalSetup: ['packages/testkit/src/global-servers.ts'],
          // As above; it saves a second of processor time for each file.
          isolate: false,
          // Processes, since concurrent files each need a Redis of their own.
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
          // Each waits for most of its time, so that two leave the other a processor.
          maxWorkers: 2,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
})
