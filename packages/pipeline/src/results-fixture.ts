import { text } from 'node:stream/consumers'
import type { TestPipeline } from '@plumbline/testkit/pipeline'
import { openResults, type ResultsRequest } from './results.ts'

/** The results of a batch as text: as NDJSON and with every row, unless `wanted` says otherwise. */
export async function resultsText(
  { pipeline, owner }: Pick<TestPipeline, 'pipeline' | 'owner'>,
  id: string,
  wanted: Partial<ResultsRequest> = {},
): Promise<string> {
  const request = { format: 'ndjson', only: [], raw: false, after: 0, ...wanted } as const
  return await text((await openResults(pipeline, owner, id, request)).stream)
}
