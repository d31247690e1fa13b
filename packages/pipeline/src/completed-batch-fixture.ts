import { closeFinishedBatches } from '@plumbline/db/batches/stages'
import type { TestPipeline } from '@plumbline/testkit/pipeline'

/** The id of a new batch of this content, whose checks are answered and whose file is written. */
export async function completed(
  harness: TestPipeline,
  content: string | Uint8Array,
  options: Parameters<TestPipeline['read']>[1] = {},
): Promise<string> {
  const { id } = await harness.read(content, options)
  await harness.answer()
  await closeFinishedBatches(harness.pipeline.db)
  await harness.workStages()
  return id
}
