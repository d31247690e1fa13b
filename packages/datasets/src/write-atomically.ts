import { open, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * Replaces a file atomically, also across a crash. The file gets the folder's owner and read
 * permissions, since the process that reads it may run as another user.
 */
export async function writeAtomically(
  dir: string,
  name: string,
  content: string | Uint8Array,
): Promise<void> {
  const temporary = join(dir, `.${name}.${process.pid}.part`)
  try {
    const { mode, uid, gid } = await stat(dir)
    // Left by a killed process with the same id: in a container each process has that id.
    await rm(temporary, { force: true })
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
