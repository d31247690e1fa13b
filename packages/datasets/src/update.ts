import type { Log } from '@plumbline/ports/log'
import { createHash } from 'node:crypto'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { AddressBytes } from '@plumbline/net/address-bytes'
import type { FetchRequest, HttpAnswer } from '@plumbline/net/http'
import { readFormat } from './formats.ts'
import { rangeEntry } from './load.ts'
import { ASN_LISTS, RANGE_LISTS } from './source.ts'
import { PUBLIC_SOURCES, type PublicSource } from './sources.ts'
import { type ListVersion, readVersions, writeVersions } from './versions.ts'
import { writeAtomically } from './write-atomically.ts'

/** Options of an update. */
export interface UpdateOptions {
  /** Folder of lists; created if missing. */
  readonly dir: string
  readonly sources?: readonly PublicSource[]
  readonly fetch: (request: Omit<FetchRequest, 'egress' | 'resolver'>) => Promise<HttpAnswer>
  readonly log: Pick<Log, 'info' | 'warn'>
  /** Ends the update: with a time-out what has not come is missing, otherwise it is repeated. */
  readonly signal: AbortSignal
  readonly now?: () => Date
}

/**
 * Result for one source. `refused`: it was fetched, but does not look like the list it should be.
 */
export interface SourceUpdate {
  readonly file: string
  readonly status: 'updated' | 'unchanged' | 'refused' | 'failed'
  readonly count: number
  readonly detail: string
}

/** Whether a source could not be fetched, or was implausible. */
export function isMissing({ status }: Pick<SourceUpdate, 'status'>): boolean {
  return status === 'failed' || status === 'refused'
}

/** Logs the result for one source, as a warning if it is missing. */
export function logUpdate(log: UpdateOptions['log'], { detail, ...fields }: SourceUpdate): void {
  if (isMissing(fields)) log.warn(fields, detail)
  else log.info(fields, detail)
}

const TIMEOUT_MS = 60_000
/** Redirects that are followed to a source. */
const REDIRECTS_MAX = 3
/** Maximum share of a list that may be malformed; with more, all of it is refused. */
const BAD_SHARE_MAX = 0.01
/**
 * Minimum size (entries, zones, bytes) of an update as a share of the previous one: a smaller one
 * counts as broken.
 */
export const SHRINK_MIN = 0.5
/** Shortest prefix lengths that are accepted: a list with 0.0.0.0/0 would flag every address. */
const WIDEST_BITS = { 4: 8, 16: 19 } as const

/**
 * Fetches all public sources into list files. Each is checked for size and format, written to a
 * temporary file, flushed and renamed, so that a reader sees the old file or the new one. A source
 * that fails leaves its file as it was. Versions are recorded in `versions.json`.
 */
export async function updateLists(options: UpdateOptions): Promise<readonly SourceUpdate[]> {
  await mkdir(options.dir, { recursive: true })
  const versions = new Map(Object.entries(await readVersions(options.dir)))
  const updates: SourceUpdate[] = []
  for (const source of options.sources ?? PUBLIC_SOURCES) {
    if (isStopped(options.signal)) break
    const file = `${source.list}.${source.name}.txt`
    const update = await updateOne(options, source, file, versions)
    updates.push(update)
    logUpdate(options.log, update)
  }
  await writeVersions(options.dir, Object.fromEntries(versions))
  return updates
}

/** Whether an update is to end before its time, as its program does, or by ctrl-C. */
export function isStopped({ aborted, reason }: AbortSignal): boolean {
  return aborted && !(reason instanceof Error && reason.name === 'TimeoutError')
}

/** Makes the results for one file, which has `before` entries unless it is updated. */
export function resultsOf(
  file: string,
  before = 0,
): (status: SourceUpdate['status'], detail: string, count?: number) => SourceUpdate {
  return (status, detail, count = before) => ({ file, status, count, detail })
}

/** Fetches a source; its status comes with the fault of a reply that is not the source. */
export async function fetchSource(
  { fetch, signal }: Pick<UpdateOptions, 'fetch' | 'signal'>,
  request: Pick<FetchRequest, 'url' | 'maxBytes' | 'timeoutMs'>,
): Promise<Exclude<HttpAnswer, { kind: 'failed' }> | { fault: string; status?: number }> {
  const answer = await fetch({ ...request, maxRedirects: REDIRECTS_MAX, signal })
  if (answer.kind === 'failed')
    return { fault: `${request.url}: ${answer.reason} ${answer.detail}` }
  const { status } = answer
  return status === 200
    ? answer
    : { fault: `${request.url}: status ${status}, expected 200`, status }
}

async function updateOne(
  options: UpdateOptions,
  source: PublicSource,
  file: string,
  versions: Map<string, ListVersion>,
): Promise<SourceUpdate> {
  const before = versions.get(file)
  const done = resultsOf(file, before?.count)
  const fetched = await fetchAll(options, source)
  if ('fault' in fetched) return done('failed', fetched.fault)
  let entries: readonly string[]
  try {
    entries = fetched.texts.flatMap((text) => readFormat(source.format, text))
  } catch (error) {
    return done('refused', `not in the form ${source.format}: ${messageOf(error)}`)
  }
  const sound = entries.flatMap((entry) => soundEntry(source, entry))
  const good = [...new Set(sound)].toSorted()
  const badShare = entries.length === 0 ? 0 : 1 - sound.length / entries.length
  const fault = shapeFault(source, badShare, good.length, before)
  if (fault !== null) return done('refused', fault)
  const body = `${good.join('\n')}\n`
  const sha256 = createHash('sha256').update(body).digest('hex')
  const now = (options.now ?? (() => new Date()))()
  const date = fetched.date ?? now.toISOString().slice(0, 10)
  const version = {
    source: source.urls,
    date,
    fetchedAt: now.toISOString(),
    count: good.length,
    sha256,
  }
  if (before?.sha256 === sha256 && (await hasBody(join(options.dir, file), body))) {
    versions.set(file, { ...version, date: before.date })
    return done('unchanged', 'the same entries as before')
  }
  await writeAtomically(options.dir, file, `${headerOf(source, date)}${body}`)
  versions.set(file, version)
  return done('updated', `${good.length} entries`, good.length)
}

/** Whether a list file still has these lines after its head: it may be damaged since. */
async function hasBody(path: string, body: string): Promise<boolean> {
  const text = await readFile(path, 'utf8').catch(() => '')
  return text.replace(/^(?:#.*\n)+/, '') === body
}

async function fetchAll(
  options: UpdateOptions,
  source: PublicSource,
): Promise<
  { readonly texts: readonly string[]; readonly date: string | null } | { readonly fault: string }
> {
  const texts: string[] = []
  let date: string | null = null
  for (const address of source.urls) {
    const fetched =
      source.link === undefined
        ? await fetchText(options, source, address)
        : await fetchLinked(options, source, address, source.link)
    if ('fault' in fetched) return fetched
    texts.push(fetched.text)
    date ??= fetched.date
  }
  return { texts, date }
}

type Text = { readonly text: string; readonly date: string | null } | { readonly fault: string }

async function fetchText(options: UpdateOptions, source: PublicSource, url: string): Promise<Text> {
  const { maxBytes } = source
  const answer = await fetchSource(options, { url, maxBytes, timeoutMs: TIMEOUT_MS })
  if ('fault' in answer) return answer
  const text = new TextDecoder().decode(answer.body)
  return { text, date: dayOf(answer.headers['last-modified']) }
}

/**
 * Fetches a file that a page links to, for a publisher that gives each edition an address of its
 * own.
 */
async function fetchLinked(
  options: UpdateOptions,
  source: PublicSource,
  page: string,
  pattern: RegExp,
): Promise<Text> {
  const fetched = await fetchText(options, source, page)
  if ('fault' in fetched) return fetched
  const [link] = pattern.exec(fetched.text) ?? []
  if (link === undefined) return { fault: `${page}: expected a link ${pattern.source}` }
  return await fetchText(options, source, link)
}

/** The normalized entry in an array, or an empty one if it is invalid. */
function soundEntry({ list }: PublicSource, entry: string): readonly string[] {
  if (isOneOf(RANGE_LISTS, list)) {
    // As workers read it: one malformed entry would make them keep the lists before, or not start.
    const range = rangeEntry(entry, list)
    return range !== null && narrowEnough(range) ? [entry] : []
  }
  if (isOneOf(ASN_LISTS, list)) return /^AS\d{1,10}$/.test(entry) ? [entry] : []
  return /^[a-z0-9_-]+(\.[a-z0-9_-]+)+\.?$/i.test(entry)
    ? [entry.toLowerCase().replace(/\.$/, '')]
    : []
}

function narrowEnough({ first, last }: { first: AddressBytes; last: AddressBytes }): boolean {
  let fixedBits = 0
  for (let index = 0; index < first.length; index++) {
    const differing = (first[index] ?? 0) ^ (last[index] ?? 0)
    fixedBits += Math.clz32(differing) - 24
    if (differing !== 0) break
  }
  return fixedBits >= (first.length === 4 ? WIDEST_BITS[4] : WIDEST_BITS[16])
}

function shapeFault(
  source: PublicSource,
  badShare: number,
  goodCount: number,
  before: ListVersion | undefined,
): string | null {
  if (badShare > BAD_SHARE_MAX) {
    return `expected entries of ${source.list}, got ${(badShare * 100).toFixed(1)} % others`
  }
  if (goodCount < source.leastEntries) {
    return `expected at least ${source.leastEntries} entries, got ${goodCount}`
  }
  if (before !== undefined && goodCount < before.count * SHRINK_MIN) {
    return `expected about ${before.count} entries, got ${goodCount}`
  }
  return null
}

function headerOf(source: PublicSource, date: string): string {
  const lines = [
    `# source: ${source.urls.join(' ')}`,
    `# licence: ${source.licence}`,
    `# date: ${date}`,
  ]
  return `${lines.join('\n')}\n`
}

function dayOf(header: string | undefined): string | null {
  const time = header === undefined ? Number.NaN : Date.parse(header)
  return Number.isNaN(time) ? null : new Date(time).toISOString().slice(0, 10)
}

function isOneOf<T extends string>(names: readonly T[], name: string): name is T {
  return names.some((known) => known === name)
}

/** What an error says. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
