import type { BatchRow } from '@plumbline/db/batches/rows'
import type { ValueFinder } from './erased-values.ts'
import type { Pipeline } from './pipeline.ts'

/** Characters that a piece of a file ends with and the next begins with, so that no value is cut. */
const OVERLAP = 2_048

/** How files begin whose text is packed: gzip, ZIP and with it workbooks. */
const PACKED = ['1f8b', '504b']

/**
 * Whether an upload may hold a value in a place that its rows do not show, such as lines above the header. What
 * cannot be searched as text may.
 */
export async function mayHoldValue(
  { storage }: Pick<Pipeline, 'storage'>,
  batch: BatchRow,
  finder: ValueFinder,
): Promise<boolean> {
  const decoder = decoderOf(batch.encoding ?? 'utf-8')
  if (decoder === undefined) return true
  let rest = ''
  let isFirst = true
  for await (const bytes of asBuffers(await storage.open(batch.source_key))) {
    if (isFirst && PACKED.includes(bytes.subarray(0, 2).toString('hex'))) return true
    isFirst = false
    const text = rest + decoder.decode(bytes, { stream: true })
    if (finder.scrub(text) !== text || numbersIn(text, finder)) return true
    rest = text.slice(-OVERLAP)
  }
  return false
}

/** A number in the writing of its country is told by its row alone; what may be one is taken for it. */
function numbersIn(text: string, finder: ValueFinder): boolean {
  return text.split(/[\n,;\t|"]/).some((cell) => finder.mayBePhone(cell))
}

function decoderOf(encoding: string): InstanceType<typeof TextDecoder> | undefined {
  try {
    return new TextDecoder(encoding)
  } catch {
    return undefined
  }
}

/** Safe because a file is read as bytes. */
function asBuffers(stream: AsyncIterable<unknown>): AsyncIterable<Buffer> {
  return stream as AsyncIterable<Buffer>
}
