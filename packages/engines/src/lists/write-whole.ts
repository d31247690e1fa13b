import { open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'

/** Writes a file so that it is there whole or as it was before, after a crash too. */
export async function writeWhole(
  dir: string,
  name: string,
  content: string | Uint8Array,
): Promise<void> {
  const temporary = join(dir, `.${name}.${process.pid}.part`)
  try {
    const file = await open(temporary, 'w', 0o644)
    try {
      await file.writeFile(content)
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
