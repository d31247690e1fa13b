import { setImmediate as nextTurn } from 'node:timers/promises'
import { promisify } from 'node:util'
import { constants, zstdCompress, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import type { Outcome } from '@plumbline/contract/outcome'
import type { Check } from '@plumbline/contract/products'
import type { RowKind } from '@plumbline/contract/batch'

/** Subjects of one check in a chunk, each with the place of its row in the chunk. */
export interface CheckSubjects {
  readonly subjects: readonly string[]
  readonly places: readonly number[]
}

/** What a chunk asks, by check. */
export type ChunkSubjects = { readonly [C in Check]?: CheckSubjects }

/** The rows of a chunk as they came; what is rare is keyed by place in the chunk. */
export interface ChunkCells {
  /** Cells of each row; for JSON records the one JSON text. */
  readonly rows: readonly (readonly string[])[]
  readonly kinds: readonly RowKind[]
  /** For a duplicate the row number of its first occurrence. */
  readonly ofRow: Readonly<Record<string, number>>
  /** For a duplicate its own subjects: the same ones, maybe in another writing. */
  readonly asked: Readonly<Record<string, { readonly [C in Check]?: string | undefined }>>
  /** What is wrong with a row. */
  readonly errors: Readonly<Record<string, string>>
  /** What the list calls a row, where a `ref` column is mapped. */
  readonly refs: Readonly<Record<string, string>>
}

/** An outcome, or null where our own fault kept the subject from being answered. */
export type StoredOutcome<C extends Check = Check> = Outcome<C> | null

const LEVEL_ONE = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }

/** Packs a value as JSON under zstd level 1, as chunks and parts hold it. */
export function pack(value: unknown): Buffer {
  return zstdCompressSync(JSON.stringify(value), LEVEL_ONE)
}

const compress = promisify(zstdCompress)

/** Values put into words between two turns of the event loop: well under a millisecond. */
const PACKED_A_TURN = 100

/** Packs a list as `pack` does, without holding up the calls that the same process answers. */
export async function packInTurns(values: readonly unknown[]): Promise<Buffer> {
  const pieces: string[] = []
  for (let from = 0; from < values.length; from += PACKED_A_TURN) {
    if (from > 0) await nextTurn()
    const slice = JSON.stringify(values.slice(from, from + PACKED_A_TURN))
    pieces.push(slice.slice(1, -1))
  }
  return await compress(`[${pieces.join(',')}]`, LEVEL_ONE)
}

/** Unpacks subjects that `pack` made. */
export function unpackSubjects(bytes: Buffer): ChunkSubjects {
  return JSON.parse(textOf(bytes)) as ChunkSubjects
}

/** Unpacks cells that `pack` made. */
export function unpackCells(bytes: Buffer): ChunkCells {
  return JSON.parse(textOf(bytes)) as ChunkCells
}

/** Unpacks the outcomes of a part that `pack` made. */
export function unpackOutcomes(bytes: Buffer): readonly StoredOutcome[] {
  return JSON.parse(textOf(bytes)) as readonly StoredOutcome[]
}

// The casts above are safe because only this file packs what these columns hold; a reader of
// another version comes with a migration.
function textOf(bytes: Buffer): string {
  return zstdDecompressSync(bytes).toString()
}
