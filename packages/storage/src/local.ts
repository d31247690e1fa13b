import { createReadStream } from 'node:fs'
import { copyFile, lchown, mkdir, open, opendir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join, normalize, sep } from 'node:path'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { hasCode } from '@plumbline/runtime/error-code'
import { orAbsent } from '@plumbline/runtime/or-absent'
import {
  LIST_PAGE,
  type NameRange,
  type NewFile,
  type Storage,
  type StoredFile,
} from './storage.ts'

/** Only the service's user may access folders and files. */
const FOLDER_MODE = 0o700
const FILE_MODE = 0o600

/** Files below one directory of this machine. */
export async function openLocalStorage(url: URL): Promise<Storage> {
  const root = fileURLToPath(url)
  await makeFolder(root)
  return {
    put: async (key, path) => {
      const target = within(root, key)
      await makeFolder(dirname(target))
      await settle(path, dirname(target))
      await move(path, target)
      await flush(dirname(target))
    },
    create: async (key) => await createFile(within(root, key)),
    open: async (key, range) => {
      const stream = createReadStream(within(root, key), { highWaterMark: 256 * 1024, ...range })
      await once(stream, 'open')
      return stream
    },
    local: async (key) => ({ path: within(root, key), release: async () => {} }),
    remove: async (keys) => {
      for (const key of keys) {
        await rm(within(root, key), { force: true })
        // Leftovers of a killed process.
        await rm(partOf(within(root, key)), { force: true })
      }
    },
    list: (folder, names) => listFolder(within(root, folder), folder, names),
    // Leftovers of a killed process are files like others.
    dropParts: async () => 0,
    [Symbol.asyncDispose]: async () => {},
  }
}

/** Temporary path of a file that is being written. */
function partOf(target: string): string {
  return `${target}.part`
}

/**
 * Written beside its final path and renamed, so that it is there completely or not at all. If two
 * write the same file, the later one wins.
 */
async function createFile(target: string): Promise<NewFile> {
  await makeFolder(dirname(target))
  const path = partOf(target)
  await rm(path, { force: true })
  const file = await open(path, 'wx', FILE_MODE)
  const { ino } = await file.stat()
  const isOurs = async (): Promise<boolean> => (await orAbsent(stat(path)))?.ino === ino
  let isOver = false
  return {
    // Continues after a partial write, which `write` would only report.
    write: async (bytes) => await file.writeFile(bytes),
    end: async () => {
      await settle(path, dirname(target))
      if (!(await isOurs())) throw new Error(`${path} is another's: the file was begun again`)
      await rename(path, target)
      isOver = true
      await flush(dirname(target))
    },
    [Symbol.asyncDispose]: async () => {
      await file.close()
      if (!isOver && (await isOurs())) await rm(path, { force: true })
    },
  }
}

async function* listFolder(
  path: string,
  folder: string,
  { prefix, after }: NameRange = { prefix: '', after: '' },
): AsyncGenerator<readonly StoredFile[], void, undefined> {
  const entries = await orAbsent(opendir(path))
  if (entries === undefined) return
  let page: StoredFile[] = []
  for await (const entry of entries) {
    if (!entry.isFile() || !entry.name.startsWith(prefix) || entry.name <= after) continue
    const found = await orAbsent(stat(join(path, entry.name)))
    if (found === undefined) continue
    // A rename keeps the time of the last write; this sets the current time.
    page.push({ key: `${folder}/${entry.name}`, storedAt: found.ctime })
    if (page.length < LIST_PAGE) continue
    yield page
    page = []
  }
  if (page.length > 0) yield page
}

function within(root: string, key: string): string {
  const path = normalize(join(root, key))
  if (!path.startsWith(normalize(root + sep))) throw new Error('a storage key left its root')
  return path
}

/**
 * Creates a missing folder with the owner of its parent, so that a program that runs as root leaves
 * nothing that others cannot use.
 */
async function makeFolder(path: string): Promise<void> {
  const made = await mkdir(path, { recursive: true, mode: FOLDER_MODE })
  if (made === undefined || process.getuid?.() !== 0) return
  const { uid, gid } = await stat(dirname(path))
  await lchown(path, uid, gid)
}

/** Flushes a file to disk, and makes it readable only by the folder's owner. */
async function settle(path: string, folder: string): Promise<void> {
  const file = await open(path, 'r')
  try {
    await file.chmod(FILE_MODE)
    if (process.getuid?.() === 0) {
      const { uid, gid } = await stat(folder)
      await file.chown(uid, gid)
    }
    await file.sync()
  } finally {
    await file.close()
  }
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
    if (!hasCode(error, 'EXDEV')) throw error
    // On another file system: copied beside the target first, so that the rename stays atomic.
    const beside = partOf(to)
    await copyFile(from, beside)
    await settle(beside, dirname(to))
    await rename(beside, to)
    await rm(from, { force: true })
  }
}
