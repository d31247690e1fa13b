import { randomUUID } from 'node:crypto'
import { closeSync, openSync, readSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CheckedRecord } from './record.ts'

/** Outcomes of records that have later duplicates, in a temporary file in row order. */
export interface DuplicateOutcomes extends Disposable {
  /** Whether a row has later duplicates. */
  isDuplicated(row: number): boolean
  /** Stores the outcomes of a row; undefined for one that was canceled. */
  keep(row: number, record: CheckedRecord | undefined): void
  /** Whether the outcomes of a row were stored. */
  has(row: number): boolean
  /** The stored outcomes of a row. */
  find(row: number): CheckedRecord | undefined
}

const BUFFER_BYTES = 256 * 1024

/**
 * Opens an empty store for one pass over a batch's rows.
 *
 * @param bits one bit a row, set if the row has later duplicates; null if none has
 * @param scratchDir of the temporary file, which is removed when disposed
 */
export function openDuplicateOutcomes(bits: Buffer | null, scratchDir: string): DuplicateOutcomes {
  if (bits === null || bits.length === 0) {
    return {
      isDuplicated: () => false,
      keep: () => {},
      has: () => false,
      find: () => undefined,
      [Symbol.dispose]: () => {},
    }
  }
  const ranks = rankTable(bits)
  // Start and end of each kept text, by rank among the duplicated rows; 0 is "not kept".
  const ends = new Float64Array(ranks.count)
  const sizes = new Uint32Array(ranks.count)
  const path = join(scratchDir, `duplicates-${randomUUID()}`)
  const file = openSync(path, 'w+', 0o600)
  let pending: Buffer[] = []
  let pendingBytes = 0
  let end = 0
  const flush = (): void => {
    // Continues after a partial write, which `writeSync` would only report.
    if (pending.length > 0) writeFileSync(file, Buffer.concat(pending))
    pending = []
    pendingBytes = 0
  }
  return {
    isDuplicated: (row) => isSet(bits, row),
    keep: (row, record) => {
      const bytes = Buffer.from(JSON.stringify(record ?? null))
      pending.push(bytes)
      pendingBytes += bytes.length
      end += bytes.length
      const rank = ranks.of(row)
      ends[rank] = end
      sizes[rank] = bytes.length
      if (pendingBytes >= BUFFER_BYTES) flush()
    },
    has: (row) => isSet(bits, row) && ends[ranks.of(row)] !== 0,
    find: (row) => {
      if (!isSet(bits, row)) return undefined
      const rank = ranks.of(row)
      const at = ends[rank]
      const size = sizes[rank]
      if (at === undefined || at === 0 || size === undefined) return undefined
      flush()
      const bytes = Buffer.allocUnsafe(size)
      readSync(file, bytes, 0, size, at - size)
      return parseKept(bytes.toString())
    },
    [Symbol.dispose]: () => {
      closeSync(file)
      rmSync(path, { force: true })
    },
  }
}

/** Safe because only `keep` above writes the file. */
function parseKept(kept: string): CheckedRecord | undefined {
  return (JSON.parse(kept) as CheckedRecord | null) ?? undefined
}

function isSet(bits: Buffer, row: number): boolean {
  return (((bits[row >> 3] ?? 0) >> (row & 7)) & 1) === 1
}

const BLOCK_BYTES = 64

/** Counts the set bits before each block, so that the rank of a row among them is found at once. */
function rankTable(bits: Buffer): { count: number; of(row: number): number } {
  const before = new Uint32Array(Math.ceil(bits.length / BLOCK_BYTES) + 1)
  let count = 0
  for (let at = 0; at < bits.length; at++) {
    if (at % BLOCK_BYTES === 0) before[at / BLOCK_BYTES] = count
    count += popCount(bits[at] ?? 0)
  }
  return {
    count,
    of: (row) => {
      const byte = row >> 3
      const block = Math.floor(byte / BLOCK_BYTES)
      let rank = before[block] ?? 0
      for (let at = block * BLOCK_BYTES; at < byte; at++) rank += popCount(bits[at] ?? 0)
      return rank + popCount((bits[byte] ?? 0) & ((1 << (row & 7)) - 1))
    },
  }
}

function popCount(byte: number): number {
  let count = 0
  for (let rest = byte; rest > 0; rest &= rest - 1) count++
  return count
}
