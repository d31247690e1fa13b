import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import type { OpenedPath } from './opened-path.ts'

/** Finds a file of this machine. @throws if there is none, or it is a folder */
export async function openPath(path: string): Promise<OpenedPath> {
  const facts = await stat(path)
  if (!facts.isFile()) throw new TypeError(`${path} is not a file; a batch is one file`)
  return { kind: 'path', fileName: basename(path), bytes: () => createReadStream(path) }
}

/** The Web Crypto of Node 18, which is no global there. */
export { webcrypto } from 'node:crypto'
