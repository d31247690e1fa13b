import type { BatchRow } from '@plumbline/db/batches/rows'
import type { ValueFinder } from './erased-values.ts'
import type { Pipeline } from './pipeline.ts'

/** Characters by which pieces of a file overlap, so that no value is cut. */
const OVERLAP = 2_048

/** First bytes of compressed files: gzip, and ZIP, which workbooks are. */
const PACKED = ['1f8b', '504b']

/**
 * Whether an upload may hold a value that its rows do not show, such as in lines above the header.
 * True for files that cannot be searched as text.
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

/**
 * Whether a text may hold one of the numbers. National formats depend on the row's country, so any
 * possible match counts.
 */
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

/** Safe because a file stream yields buffers. */
function asBuffers(stream: AsyncIterable<unknown>): AsyncIterable<Buffer> {
  return stream as AsyncIterable<Buffer>
}
