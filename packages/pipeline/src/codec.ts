import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import type { Outcome } from '@plumbline/contract/outcome'
import type { Check } from '@plumbline/contract/products'
import type { RowKind } from '@plumbline/contract/batch'

/** Subjects of a chunk by check, one place for each asking record; records that do not ask are left out. */
export type ChunkSubjects = { readonly [C in Check]?: readonly string[] }

/**
 * The rows of a chunk as they came. `places` says for each check which row a subject belongs to
 * (row place within the chunk), so that subjects need no gaps.
 */
export interface ChunkCells {
  /** Cells of each row; for JSON records the one JSON text. */
  readonly rows: readonly (readonly string[])[]
  readonly kinds: readonly RowKind[]
  readonly places: { readonly [C in Check]?: readonly number[] }
  /** For a duplicate the row number of its first occurrence, by place. */
  readonly ofRow: Readonly<Record<number, number>>
  /** What is wrong with a row, by place. */
  readonly errors: Readonly<Record<number, string>>
  /** What the list calls each row, by place, where a `ref` column is mapped. */
  readonly refs: Readonly<Record<number, string>>
}

/** An outcome, or null where our own fault kept the subject from being answered. */
export type StoredOutcome<C extends Check = Check> = Outcome<C> | null

const LEVEL_ONE = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }

/** Packs a value as JSON under zstd level 1, as chunks and parts hold it. */
export function pack(value: unknown): Buffer {
  return zstdCompressSync(JSON.stringify(value), LEVEL_ONE)
}

/** Unpacks subjects that `pack` made. */
export function unpackSubjects(bytes: Buffer): ChunkSubjects {
  return trusted<ChunkSubjects>(bytes)
}

/** Unpacks cells that `pack` made. */
export function unpackCells(bytes: Buffer): ChunkCells {
  return trusted<ChunkCells>(bytes)
}

/** Unpacks the outcomes of a part that `pack` made. */
export function unpackOutcomes(bytes: Buffer): readonly StoredOutcome[] {
  return trusted<readonly StoredOutcome[]>(bytes)
}

/** Safe because only this file packs what these columns hold; a reader of another version is a migration. */
function trusted<T>(bytes: Buffer): T {
  return JSON.parse(zstdDecompressSync(bytes).toString()) as T
}
