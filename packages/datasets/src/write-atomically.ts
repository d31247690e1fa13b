import { randomUUID } from 'node:crypto'
import { open, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'

const PART = '.part'
/** Milliseconds after its last write for which a temporary file may still be in use. */
const IN_USE_MS = 3_600_000

/**
 * Replaces a file atomically, also across a crash. The file gets the folder's owner and read
 * permissions, since the process that reads it may run as another user.
 */
export async function writeAtomically(
  dir: string,
  name: string,
  content: string | Uint8Array,
): Promise<void> {
  // Not of the process's id, which in every container is the same.
  const temporary = join(dir, `.${name}.${randomUUID()}${PART}`)
  try {
    const { mode, uid, gid } = await stat(dir)
    await removeLeft(dir, name)
    const file = await open(temporary, 'wx', 0o600)
    try {
      await file.writeFile(content)
      await file.chmod((mode & 0o666) | 0o600)
      if (process.getuid?.() === 0) await file.chown(uid, gid)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(temporary, join(dir, name))
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
  const folder = await open(dir, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/** Removes temporary files of this name that killed processes left. */
async function removeLeft(dir: string, name: string): Promise<void> {
  for (const found of await readdir(dir)) {
    if (!found.startsWith(`.${name}.`) || !found.endsWith(PART)) continue
    const path = join(dir, found)
    const facts = await stat(path).catch(() => undefined)
    if (facts !== undefined && facts.mtimeMs < Date.now() - IN_USE_MS)
      await rm(path, { force: true })
  }
}
