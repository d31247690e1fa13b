import { createWriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import type { Writable } from 'node:stream'

/**
 * Creates a file that only its owner can read, and removes it if writing fails. It is closed before
 * its removal: a pipeline rejects while its file is still being opened, and a file opened after its
 * removal would stay.
 *
 * @param write resolves once everything is written to the given stream
 * @throws what `write` does, or if there is a file at the path
 */
export async function writeNewFile(
  path: string,
  write: (file: Writable) => Promise<void>,
): Promise<void> {
  const file = createWriteStream(path, { flags: 'wx', mode: 0o600 })
  const { promise: closed, resolve } = Promise.withResolvers<void>()
  file.once('close', resolve)
  // Reported by `write`; a stream without a listener would end the process.
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

/** Whether the file existed before, so that it must not be removed. */
function isThere(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EEXIST'
}
