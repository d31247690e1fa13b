import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { writeAtomically } from './write-atomically.ts'

/** Version of one fetched file, as `versions.json` holds it. */
export interface ListVersion {
  readonly source: readonly string[]
  readonly date: string
  readonly fetchedAt: string
  /** Entries of a list, networks of a database. */
  readonly count: number
  readonly sha256: string
  /** Bytes of a database. */
  readonly sizeBytes?: number
}

/** Versions by file name. */
export type ListVersions = Readonly<Record<string, ListVersion>>

const VERSIONS_FILE = 'versions.json'

/**
 * The versions of the files in a folder that still exist; empty if nothing was fetched yet, or if
 * the record is malformed, so that everything is fetched again.
 */
export async function readVersions(dir: string): Promise<ListVersions> {
  const text = await readFile(join(dir, VERSIONS_FILE), 'utf8').catch(() => '{}')
  const present = new Set(await readdir(dir).catch(() => []))
  return Object.fromEntries(Object.entries(versionsIn(text)).filter(([file]) => present.has(file)))
}

/** Safe because only `writeVersions` writes the file, atomically. */
function versionsIn(text: string): ListVersions {
  try {
    return JSON.parse(text) as ListVersions
  } catch {
    return {}
  }
}

/** Writes the versions of the files in a folder. */
export async function writeVersions(dir: string, versions: ListVersions): Promise<void> {
  await writeAtomically(dir, VERSIONS_FILE, `${JSON.stringify(versions, null, 2)}\n`)
}
