import { statfs } from 'node:fs/promises'
import type { Metrics, Observed } from './metrics.ts'

/** What is measured of a disk: bytes that the service may still write, and bytes in all. */
interface DiskSpace {
  readonly freeBytes: number
  readonly sizeBytes: number
}

/**
 * Shows how much room the disks have on which folders of the program lie; a folder that cannot be asked,
 * as on a share that is away, has no value.
 * @param folders path of each folder, by the name that the metric has for it
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
