import { IntakeError } from './intake-error.ts'

/** Texts by index, stored as bytes in large blocks instead of as millions of strings. */
export interface PackedTexts {
  readonly count: number
  /**
   * @throws IntakeError `payload_too_large` beyond 192 MiB of texts, or beyond 40 MiB plus twenty
   * times the file
   */
  add(text: string): void
  /** Undefined for an index without text. */
  get(index: number): string | undefined
}

/** A text of up to a third of this many characters fits into one block. */
const BLOCK_BYTES = 4 * 1024 * 1024
/**
 * Minimum and maximum number of blocks; 48 hold three times the texts of a million rows with eight
 * columns.
 */
const BLOCKS = { least: 10, most: 48 } as const
const LEAST_TEXTS = 500_000
/** Maximum ratio of the texts' size to the file, and minimum file bytes per text. */
const MAX_RATIO = 20
const BYTES_A_TEXT = 2

/**
 * An empty store; takes the bytes of the texts and four more for each.
 *
 * @param fileBytes size of the file that the texts come from, which bounds the store, since a small
 * file may expand
 */
export function createPackedTexts(fileBytes: number): PackedTexts {
  const fitting = Math.ceil((fileBytes * MAX_RATIO) / BLOCK_BYTES)
  const maxBlocks = Math.min(BLOCKS.most, Math.max(BLOCKS.least, fitting))
  const maxTexts = Math.max(LEAST_TEXTS, Math.ceil(fileBytes / BYTES_A_TEXT))
  const blocks: Buffer[] = []
  /** Offset of each text over all blocks; the next offset, or the block's end, ends it. */
  let starts = new Uint32Array(1024)
  /** End of the texts in each block. */
  const filled: number[] = []
  let count = 0

  function blockFor(most: number): number {
    const last = blocks.length - 1
    if (last >= 0 && (filled[last] ?? 0) + most <= BLOCK_BYTES) return last
    if (blocks.length === maxBlocks || most > BLOCK_BYTES) throw tooMuch()
    blocks.push(Buffer.allocUnsafeSlow(BLOCK_BYTES))
    filled.push(0)
    return last + 1
  }

  return {
    get count() {
      return count
    },
    add: (text) => {
      if (count === maxTexts) throw tooMuch()
      const at = blockFor(text.length * 3)
      const from = filled[at] ?? 0
      if (count + 1 >= starts.length) {
        const larger = new Uint32Array(starts.length * 2)
        larger.set(starts)
        starts = larger
      }
      starts[count] = at * BLOCK_BYTES + from
      filled[at] = from + (blocks[at]?.write(text, from, 'utf8') ?? 0)
      count += 1
    },
    get: (index) => {
      if (!(index >= 0 && index < count)) return undefined
      const start = starts[index] ?? 0
      const at = Math.floor(start / BLOCK_BYTES)
      const base = at * BLOCK_BYTES
      const next = index + 1 < count ? (starts[index + 1] ?? 0) : Number.POSITIVE_INFINITY
      const end = Math.min(next - base, filled[at] ?? 0)
      return blocks[at]?.toString('utf8', start - base, end)
    },
  }
}

function tooMuch(): IntakeError {
  return new IntakeError(
    'payload_too_large',
    'The workbook holds more different texts than are read (192 MiB); upload the sheet as CSV.',
  )
}
