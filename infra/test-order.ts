import { relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { ROOT } from './run.ts'

/**
 * Long test files, the longest first. The last file to start should be short, so that no processor is
 * idle at the end. Files that wait for most of their time are at the head, since they use hardly any
 * processor time.
 */
export const LONG_FILES: readonly string[] = [
  'email-limits',
  'closed-network',
  'cli',
  'crash',
  'hlr-crash',
  'email-crash',
  'crash-moments',
  'subjects-in-logs',
  'erasure-kills',
  'products',
  'versions',
  'cancel-purchases',
  'domain-limits',
  'web/many-batches',
  'batches',
  'web/new-user',
  'batches-results',
  'hlr-cap',
  'webhooks',
  'batches-before-start',
  'spreadsheet',
  'domain-real',
  'terminal',
  'hostile',
  'web/pages',
  'web/meanwhile',
  'web/actions',
  'demo',
].map((name) => `test/integration/${name}.test.ts`)

/**
 * Starts the long files first within each group of projects. The order is fixed here because a new
 * clone has no measured times.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line no-array-sort -- not Array's method: it changes no array in place
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
