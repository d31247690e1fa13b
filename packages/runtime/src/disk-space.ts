import { statfs } from 'node:fs/promises'
import type { Metrics, Observed } from './metrics.ts'

/** Space of a disk: bytes that the service may still write, and bytes in all. */
interface DiskSpace {
  readonly freeBytes: number
  readonly sizeBytes: number
}

/**
 * Exposes the free space of the disks of some folders as metrics; a folder that cannot be read,
 * such as on an unreachable share, has no value.
 *
 * @param folders path of each folder, by its label in the metric
 */
export function observeDisks(metrics: Metrics, folders: Readonly<Record<string, string>>): void {
  const observe = (name: string, help: string, valueOf: (space: DiskSpace) => number): void =>
    metrics.observed(name, help, ['folder'], async () => {
      const read = Object.entries(folders).map(async ([folder, path]) => {
        const space = await readDiskSpace(path)
        return space === null ? [] : [{ labels: { folder }, value: valueOf(space) }]
      })
      return (await Promise.all(read)).flat() satisfies readonly Observed[]
    })
  observe(
    'disk_free_bytes',
    'Bytes that the program may still write on the disk of a folder.',
    ({ freeBytes }) => freeBytes,
  )
  observe(
    'disk_size_bytes',
    'Bytes of the disk that a folder lies on.',
    ({ sizeBytes }) => sizeBytes,
  )
}

async function readDiskSpace(path: string): Promise<DiskSpace | null> {
  try {
    const { bavail, blocks, bsize } = await statfs(path)
    return { freeBytes: bavail * bsize, sizeBytes: blocks * bsize }
  } catch {
    return null
  }
}
