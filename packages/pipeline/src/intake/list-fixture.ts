import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { listLimits } from './limits.ts'
import type { ListRow } from './list-row.ts'
import { openList, type ListOptions, type OpenedList } from './open-list.ts'
import { readRows, type ListSummary } from './read-rows.ts'

/** What a list was read as. */
export interface ReadList {
  readonly list: OpenedList
  readonly rows: readonly ListRow[]
  readonly summary: ListSummary
}

/** Writes bytes to a file of its own and reads them as a list; email product unless told. */
export async function readBytes(
  bytes: string | Uint8Array,
  options: Partial<Omit<ListOptions, 'path'>> = {},
): Promise<ReadList> {
  const folder = await mkdtemp(join(tmpdir(), 'list-'))
  try {
    const path = join(folder, 'upload')
    await writeFile(path, bytes)
    const list = await openList({
      path,
      fileName: 'list.csv',
      product: 'email',
      limits: listLimits(),
      ...options,
    })
    const stream = readRows(list, AbortSignal.timeout(20_000))
    const rows: ListRow[] = []
    for await (const block of stream) rows.push(...block)
    return { list, rows, summary: stream.summary() }
  } finally {
    await rm(folder, { recursive: true })
  }
}
