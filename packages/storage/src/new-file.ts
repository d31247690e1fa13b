import { createWriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import type { Writable } from 'node:stream'
import { hasCode } from '@plumbline/runtime/error-code'

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
    // If the file existed before, it is not ours to remove.
    if (!hasCode(error, 'EEXIST')) await rm(path, { force: true })
    throw error
  }
}
