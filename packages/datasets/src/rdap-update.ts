import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  fetchSource,
  logUpdate,
  resultsOf,
  SHRINK_MIN,
  type SourceUpdate,
  type UpdateOptions,
} from './update.ts'
import { writeAtomically } from './write-atomically.ts'
import { RDAP_LIST_FILE, RDAP_LIST_MAX_BYTES, parseRdapList } from './rdap-list.ts'

/** Options of an update of the list of RDAP servers. */
export interface RdapUpdateOptions extends Pick<UpdateOptions, 'dir' | 'fetch' | 'log' | 'signal'> {
  readonly url: string
}

/**
 * Minimum number of zones, with fewer it is an error of the source: half of IANA's list in
 * September 2026.
 */
const LEAST_OF_IANA = 600
const TIMEOUT_MS = 30_000

/**
 * Fetches the list of RDAP servers into the folder of lists. It is checked for size, format and
 * age, written to a temporary file, flushed and renamed; a list that cannot be fetched or is
 * implausible leaves the file as it was.
 */
export async function updateRdapList(options: RdapUpdateOptions): Promise<SourceUpdate> {
  await mkdir(options.dir, { recursive: true })
  const update = await updateOne(options)
  logUpdate(options.log, update)
  return update
}

async function updateOne({ dir, fetch, url, signal }: RdapUpdateOptions): Promise<SourceUpdate> {
  const before = await readFile(join(dir, RDAP_LIST_FILE), 'utf8').catch(() => '')
  const old = parseRdapList(before)
  const done = resultsOf(RDAP_LIST_FILE, old?.zones.size)
  const request = { url, maxBytes: RDAP_LIST_MAX_BYTES, timeoutMs: TIMEOUT_MS }
  const answer = await fetchSource({ fetch, signal }, request)
  if ('fault' in answer) return done('failed', answer.fault)
  const text = new TextDecoder().decode(answer.body)
  const list = parseRdapList(text)
  if (list === null) return done('refused', 'expected a list of RDAP servers (RFC 9224)')
  // An operator's own list may have any length.
  const floor = new URL(url).hostname === 'data.iana.org' ? LEAST_OF_IANA : 1
  const least = Math.max(floor, (old?.zones.size ?? 0) * SHRINK_MIN)
  if (list.zones.size < least) {
    return done('refused', `expected at least ${least} zones, got ${list.zones.size}`)
  }
  if ((list.publication ?? '') < (old?.publication ?? '')) {
    return done('refused', `published ${list.publication}, before ${old?.publication}`)
  }
  if (text === before) return done('unchanged', 'the same list as before')
  await writeAtomically(dir, RDAP_LIST_FILE, text)
  const published = list.publication ?? 'an unknown day'
  return done('updated', `${list.zones.size} zones, published ${published}`, list.zones.size)
}
