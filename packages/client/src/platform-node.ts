import { constants, createReadStream } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { basename } from 'node:path'
import type { OpenedPath } from './opened-path.ts'

/** Finds a file of this machine. @throws if there is none that can be read, or it is a folder */
export async function openPath(path: string): Promise<OpenedPath> {
  const facts = await stat(path)
  if (!facts.isFile()) throw new TypeError(`${path} is not a file; a batch is one file`)
  await access(path, constants.R_OK)
  return { kind: 'path', fileName: basename(path), bytes: () => bytesOf(path) }
}

/**
 * Opens the file when its first bytes are read: an upload that is refused a connection reads none,
 * and would never close it, and an error before that would have no listener and end the process.
 */
async function* bytesOf(path: string): AsyncGenerator<Uint8Array> {
  yield* createReadStream(path)
}

/** The Web Crypto of Node 18, which is no global there. */
export { webcrypto } from 'node:crypto'
