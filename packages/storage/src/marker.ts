import { randomUUID } from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isAbsent, type Storage } from './storage.ts'

/** Key of the file that names the installation that a store belongs to. */
export const MARKER = 'installation'

/** Maximum bytes of a marker, which is one short line; a longer file is not a marker. */
const MARKER_BYTES = 256

/** Whether a store belongs to this installation, or to another one. */
export type StoreClaim =
  | { readonly kind: 'ours' }
  | { readonly kind: 'foreign'; readonly owner: string }

/**
 * Reads the marker of a store, and writes ours if there is none. If two installations do this at
 * the same moment, one finds the other's marker, now or the next time.
 *
 * @param id of our installation; one word
 * @throws if the store does not reply
 */
export async function claimStore(
  storage: Storage,
  { id, scratchDir }: { readonly id: string; readonly scratchDir: string },
): Promise<StoreClaim> {
  const present = await readMarker(storage)
  if (present === undefined) await writeMarker(storage, id, scratchDir)
  const owner = present ?? (await readMarker(storage))
  return owner === id ? { kind: 'ours' } : { kind: 'foreign', owner: owner ?? 'nobody' }
}

/**
 * Whether a store has the marker of this installation. An empty directory where a disk should be
 * mounted has none.
 *
 * @throws if the store does not reply
 */
export async function hasMarker(storage: Storage, id: string): Promise<boolean> {
  return (await readMarker(storage)) === id
}

async function readMarker(storage: Storage): Promise<string | undefined> {
  let content = Buffer.alloc(0)
  try {
    for await (const piece of await storage.open(MARKER)) {
      content = Buffer.concat([content, Buffer.from(piece as Uint8Array)])
      if (content.length > MARKER_BYTES) break
    }
  } catch (error) {
    if (isAbsent(error)) return undefined
    throw error
  }
  const word = /^([\w.:-]{1,100})\s*$/.exec(content.toString('utf8'))?.[1]
  return word ?? 'a file that is not a marker of ours'
}

async function writeMarker(storage: Storage, id: string, scratchDir: string): Promise<void> {
  const path = join(scratchDir, `fetch-${randomUUID()}`)
  try {
    await writeFile(path, `${id}\n`, { flag: 'wx', mode: 0o600 })
    await storage.put(MARKER, path)
  } finally {
    await rm(path, { force: true })
  }
}
