import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Reporter, TestModule } from 'vitest/node'
import { ROOT } from './run.ts'

/** Where the messages of errors that no test caught are written, a JSON list of strings. */
export const UNCAUGHT_PATH = join(ROOT, '.reports', 'uncaught.json')

/** Writes the errors of a run that no test caught; vitest's JSON report leaves them out. */
export default class UncaughtReporter implements Reporter {
  onTestRunEnd(_: readonly TestModule[], errors: readonly { readonly message: string }[]): void {
    writeFileSync(UNCAUGHT_PATH, JSON.stringify(errors.map(({ message }) => message)))
  }
}
