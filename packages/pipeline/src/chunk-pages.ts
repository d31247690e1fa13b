import { setTimeout as wait } from 'node:timers/promises'
import { firstOpenChunk, readChunks, type StoredChunk } from '@plumbline/db/batches/chunks'
import type { Pipeline } from './pipeline.ts'
import type { LeasedStage } from './stage-lease.ts'

/** Chunks read at a time, while the page before is being written. */
const PAGE_CHUNKS = 8

/** The chunks of a batch in order, in pages of `atOnce`, reading one page ahead. */
export async function* pagesOfChunks(
  pipeline: Pick<Pipeline, 'db'>,
  batchId: string,
  range: { readonly fromNo?: number; readonly endNo?: number; readonly atOnce?: number } = {},
): AsyncGenerator<readonly StoredChunk[], void, undefined> {
  const { fromNo = 0, endNo = Infinity, atOnce = PAGE_CHUNKS } = range
  const read = async (no: number): Promise<readonly StoredChunk[]> =>
    no >= endNo
      ? []
      : await readChunks(pipeline.db, batchId, {
          fromNo: no,
          most: Math.min(atOnce, endNo - no),
        })
  let no = fromNo
  let next = read(no)
  for (;;) {
    const page = await next
    if (page.length === 0) return
    no += atOnce
    next = read(no)
    // A consumer that stops early never awaits this page; its failure must not end the process.
    next.catch(() => {})
    yield page
  }
}

/** Thrown if no chunk was settled for too long, or another worker has the batch. */
export class Stalled extends Error {}

/**
 * The chunks of a running batch in order, each as soon as it and all before it are settled.
 *
 * @throws Stalled after `longestMs` without one
 */
export async function* pagesAsSettled(
  pipeline: Pick<Pipeline, 'db'>,
  stage: LeasedStage,
  times: { readonly pollMs: number; readonly longestMs: number },
): AsyncGenerator<readonly StoredChunk[], void, undefined> {
  let no = 0
  let changedMs = performance.now()
  for (;;) {
    const open = await firstOpenChunk(pipeline.db, stage, no)
    if (open === 'lost') throw new Stalled('another worker has the batch')
    if (open === 'none') {
      yield* pagesOfChunks(pipeline, stage.batchId, { fromNo: no })
      return
    }
    if (open > no) {
      yield* pagesOfChunks(pipeline, stage.batchId, { fromNo: no, endNo: open })
      changedMs = performance.now()
    } else if (performance.now() - changedMs > times.longestMs) {
      throw new Stalled('no chunk was settled')
    }
    const page = open - no
    no = open
    // If chunks are settled quickly, the next ones are settled by now.
    if (page < PAGE_CHUNKS) await wait(times.pollMs, undefined, { signal: stage.signal })
  }
}
