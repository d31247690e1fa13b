import { text } from 'node:stream/consumers'
import { expect, test, vi } from 'vitest'
import { openTestPipeline, type TestPipeline } from '../../../test/support/pipeline.ts'
import { openResults } from './results.ts'

const ROWS = 300
const HALF = ROWS / 2

/** A list whose second half repeats the first, each of its chunks rows of all earlier chunks. */
function halfRepeated(): string {
  const first = Array.from({ length: HALF }, (_, no) => `user${no}@example.com`)
  const second = first.map((_, no) => first[(no * 47) % HALF])
  return `email\n${[...first, ...second].join('\n')}\n`
}

async function linesAfter(place: TestPipeline, id: string, after: number): Promise<string[]> {
  const request = { format: 'ndjson', only: [], raw: false, after } as const
  const { stream } = await openResults(place.pipeline, place.owner, id, request)
  return (await text(stream)).split('\n').slice(0, -1)
}

test('a reading from the middle finds the answers of earlier rows, each chunk of them once', async () => {
  await using place = await openTestPipeline({ limits: { chunkRecords: 10 } })
  const { id } = await place.read(halfRepeated())
  await place.answer()
  const all = await linesAfter(place, id, 0)
  expect(all).toHaveLength(ROWS)
  const statements = vi.spyOn(place.pipeline.db.pool, 'query')
  expect(await linesAfter(place, id, HALF)).toEqual(all.slice(HALF))
  const asked = statements.mock.calls.flatMap(([query]) => earlierChunksIn(query))
  expect(asked.toSorted((one, other) => one - other)).toEqual(
    Array.from({ length: 15 }, (_, no) => no),
  )
  expect(await linesAfter(place, id, 294)).toEqual(all.slice(294))
  expect(await linesAfter(place, id, ROWS)).toEqual([])
})

test('a repeat of a row that is not answered yet is not shown as canceled', async () => {
  await using place = await openTestPipeline({ limits: { chunkRecords: 10 } })
  const { id } = await place.read(`${halfRepeated()}last@example.com\n`)
  await place.pipeline.db.pool.query('delete from tasks where chunk_no < 15')
  await place.answer()
  expect(await linesAfter(place, id, HALF)).toEqual([])
  const [last] = await linesAfter(place, id, ROWS)
  expect(last).toContain('"status":"done"')
})

/** Numbers of the chunks that a statement asks for because later rows repeat theirs. */
function earlierChunksIn(query: unknown): readonly number[] {
  const named = query as { readonly name?: string; readonly values?: [string, number[]] }
  return named.name === 'chunks.answers' ? (named.values?.[1] ?? []) : []
}
