import { createReadStream } from 'node:fs'
import { copyFile, mkdir, open, opendir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join, normalize, sep } from 'node:path'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { LIST_PAGE, type Storage, type StoredFile } from './storage.ts'

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
    list: (folder) => listFolder(within(root, folder), folder),
    [Symbol.asyncDispose]: async () => {},
  }
}

async function* listFolder(
  path: string,
  folder: string,
): AsyncGenerator<readonly StoredFile[], void, undefined> {
  const entries = await orAbsent(opendir(path))
  if (entries === undefined) return
  let page: StoredFile[] = []
  for await (const entry of entries) {
    if (!entry.isFile()) continue
    const found = await orAbsent(stat(join(path, entry.name)))
    if (found === undefined) continue
    // A rename leaves the time of the last writing as it was, and sets this one.
    page.push({ key: `${folder}/${entry.name}`, storedAt: found.ctime })
    if (page.length < LIST_PAGE) continue
    yield page
    page = []
  }
  if (page.length > 0) yield page
}

async function orAbsent<T>(found: Promise<T>): Promise<T | undefined> {
  try {
    return await found
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
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
