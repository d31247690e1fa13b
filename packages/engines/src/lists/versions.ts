import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { writeWhole } from './write-whole.ts'

/** Version of one fetched file, as `versions.json` holds it. */
export interface ListVersion {
  readonly source: readonly string[]
  readonly date: string
  readonly fetchedAt: string
  /** Entries of a list, networks of a database. */
  readonly count: number
  readonly sha256: string
  /** Of a database. */
  readonly sizeBytes?: number
}

/** Versions by file name. */
export type ListVersions = Readonly<Record<string, ListVersion>>

const VERSIONS_FILE = 'versions.json'

/** The versions of the files in a folder; empty where nothing was fetched yet. */
export async function readVersions(dir: string): Promise<ListVersions> {
  const text = await readFile(join(dir, VERSIONS_FILE), 'utf8').catch(() => '{}')
  const value: ListVersions = JSON.parse(text)
  return value
}

/** Writes the versions of the files in a folder. */
export async function writeVersions(dir: string, versions: ListVersions): Promise<void> {
  await writeWhole(dir, VERSIONS_FILE, `${JSON.stringify(versions, null, 2)}\n`)
}
