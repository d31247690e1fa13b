import { createReadStream } from 'node:fs'
import { copyFile, mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname, join, normalize, sep } from 'node:path'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Storage } from './storage.ts'

/** Files below one directory of this machine. */
export async function openLocalStorage(url: URL): Promise<Storage> {
  const root = fileURLToPath(url)
  await mkdir(root, { recursive: true })
  return {
    put: async (key, path) => {
      const target = within(root, key)
      await mkdir(dirname(target), { recursive: true })
      await flush(path)
      await move(path, target)
      await flush(dirname(target))
    },
    open: async (key) => {
      const stream = createReadStream(within(root, key), { highWaterMark: 256 * 1024 })
      await once(stream, 'open')
      return stream
    },
    local: async (key) => ({ path: within(root, key), release: async () => {} }),
    remove: async (keys) => {
      for (const key of keys) await rm(within(root, key), { force: true })
    },
    [Symbol.asyncDispose]: async () => {},
  }
}

function within(root: string, key: string): string {
  const path = normalize(join(root, key))
  if (!path.startsWith(normalize(root + sep))) throw new Error('a storage key left its root')
  return path
}

async function flush(path: string): Promise<void> {
  const file = await open(path, 'r')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}

async function move(from: string, to: string): Promise<void> {
  try {
    await rename(from, to)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EXDEV')) throw error
    // Another file system: copy beside the target first, so that the rename stays atomic.
    const beside = `${to}.part`
    await copyFile(from, beside)
    await flush(beside)
    await rename(beside, to)
    await rm(from, { force: true })
  }
}
