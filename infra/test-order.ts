import { relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { ROOT } from './run.ts'

/**
 * Files of whole processes that take long, the longest first: what begins last should be short, or one
 * processor works while the others have nothing left. Those that wait for most of their time come at the
 * head, for they cost those beside them nothing.
 */
export const LONG_FILES: readonly string[] = [
  'email-limits',
  'closed-network',
  'cli',
  'crash',
  'hlr-crash',
  'email-crash',
  'crash-moments',
  'marked',
  'erasure-kills',
  'products',
  'versions',
  'cancel-purchases',
  'domain-limits',
  'web/full',
  'batches',
  'web/whole-way',
  'batches-results',
  'hlr-cap',
  'web/pages',
  'web/actions',
  'demo',
].map((name) => `test/integration/${name}.test.ts`)

/** Begins what takes long, within each group of projects; a clone that ran no test yet knows no times. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line no-array-sort -- a method of another kind, which changes nothing
    const sorted = await super.sort(files)
    return sorted.toSorted((a, b) => groupOf(a) - groupOf(b) || placeOf(a) - placeOf(b))
  }
}

function groupOf({ project }: TestSpecification): number {
  return project.config.sequence.groupOrder
}

function placeOf({ moduleId }: TestSpecification): number {
  const at = LONG_FILES.indexOf(relative(ROOT, moduleId))
  return at === -1 ? LONG_FILES.length : at
}
