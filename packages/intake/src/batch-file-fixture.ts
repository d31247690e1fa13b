import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { uploadLimits } from './limits.ts'
import type { FileRow } from './row-builder.ts'
import type { BatchFileOptions } from './file-layout.ts'
import { openBatchFile, type BatchFile } from './open-batch-file.ts'
import { readRows, type FileSummary } from './read-rows.ts'

/** Content of a test file as it was read. */
export interface ReadFile {
  readonly file: BatchFile
  readonly rows: readonly FileRow[]
  readonly summary: FileSummary
}

/** Writes bytes to a temporary file and reads it as a batch file; product `email` by default. */
export async function readBytes(
  bytes: string | Uint8Array,
  options: Partial<Omit<BatchFileOptions, 'path'>> = {},
): Promise<ReadFile> {
  const folder = await mkdtemp(join(tmpdir(), 'batch-file-'))
  try {
    const path = join(folder, 'upload')
    await writeFile(path, bytes)
    const file = await openBatchFile({
      path,
      scratchDir: folder,
      fileName: 'file.csv',
      product: 'email',
      limits: uploadLimits(),
      ...options,
    })
    const stream = readRows(file, AbortSignal.timeout(20_000))
    const rows: FileRow[] = []
    for await (const block of stream) rows.push(...block)
    return { file, rows, summary: stream.summary() }
  } finally {
    await rm(folder, { recursive: true })
  }
}
