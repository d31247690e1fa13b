import { createWriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import type { Writable } from 'node:stream'

/**
 * Has a new file written that its owner alone can read, and removes it where that fails. It is
 * closed first: a pipeline rejects while its file is still being opened, and a file that is opened
 * after its removal would stay.
 *
 * @param write resolves once all is written to the stream that it is given
 * @throws what `write` does, or if there is a file at the path
 */
export async function writeNewFile(
  path: string,
  write: (file: Writable) => Promise<void>,
): Promise<void> {
  const file = createWriteStream(path, { flags: 'wx', mode: 0o600 })
  const { promise: closed, resolve } = Promise.withResolvers<void>()
  file.once('close', resolve)
  // Told by `write`; a stream without a listener would end the process.
  file.on('error', () => undefined)
  try {
    await write(file)
  } catch (error) {
    file.destroy()
    await closed
    if (!isThere(error)) await rm(path, { force: true })
    throw error
  }
}

/** Whether a file was there before, which is not ours to remove. */
function isThere(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EEXIST'
}
