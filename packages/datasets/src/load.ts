import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { domainToASCII, fileURLToPath } from 'node:url'
import { type AddressBytes, parseBlock } from '@plumbline/net/address-bytes'
import { type AsnList, type AsnPart, buildAsns } from './asn-list.ts'
import { buildNames, type NameList, type NamePart } from './name-list.ts'
import { collectRanges } from './range-table.ts'
import { buildRanges, type RangeList, type RangePart } from './ranges.ts'
import { packagedNames } from './packaged.ts'
import type { AsnListName, ListSource, NameListName, RangeListName } from './source.ts'

/** Folder of the packaged lists. */
const PACKAGED_DIR = fileURLToPath(new URL('../data', import.meta.url))

/** Maximum bytes of one list file. */
const LIST_FILE_MAX_BYTES = 64 * 1024 * 1024

/** Lines parsed between two turns of the event loop: about 2 ms of work. */
const LINES_A_TURN = 2_000

/** Maximum threat level. */
const LEVEL_MAX = 9

/**
 * A list of names from a folder, over the packaged one. `<name>.txt` or `<name>` in the folder
 * replaces all packaged files of that list; `<name>.<source>.txt` is added to them, or replaces the
 * packaged file or package of the same name. `dir` null: packaged lists only.
 *
 * @throws if the folder or a file in it cannot be read, or is larger than `LIST_FILE_MAX_BYTES`
 */
export async function loadNames(dir: string | null, name: NameListName): Promise<NameList> {
  const chosen = await chooseFiles(dir, name)
  const packages = chosen.replaced ? [] : await packagedNames(name)
  const parts = packages.filter(({ source }) => !chosen.taken.has(source.name))
  for (const file of chosen.files) parts.push(await readNamePart(file, name))
  return buildNames(name, parts)
}

/**
 * A list of address ranges from a folder, over the packaged one; files are chosen as `loadNames`
 * does.
 */
export async function loadRanges(dir: string | null, name: RangeListName): Promise<RangeList> {
  return buildRanges(name, await loadRangeParts(dir, name))
}

/** The sources of a list of address ranges, before they are combined. */
export async function loadRangeParts(
  dir: string | null,
  name: RangeListName,
): Promise<readonly RangePart[]> {
  const parts: RangePart[] = []
  for (const file of (await chooseFiles(dir, name)).files) {
    parts.push(await readRangePart(file, name))
  }
  return parts
}

/**
 * A list of autonomous systems from a folder, over the packaged one; files are chosen as
 * `loadNames` does.
 */
export async function loadAsns(dir: string | null, name: AsnListName): Promise<AsnList> {
  const parts: AsnPart[] = []
  for (const file of (await chooseFiles(dir, name)).files) parts.push(await readAsnPart(file))
  return buildAsns(name, parts)
}

/** Other files of an update in the folder: databases, versions, RDAP servers. */
const NO_LIST = /\.(json|mmdb|part)$/

/** Names, sizes and times of the files behind the lists of a folder, to detect a change. */
export async function stampOf(dir: string | null): Promise<string> {
  if (dir === null) return ''
  const names = (await readdir(dir))
    .filter((name) => !name.startsWith('.') && !NO_LIST.test(name))
    .toSorted()
  const stamps: string[] = []
  for (const name of names) {
    const { size, mtimeMs } = await stat(join(dir, name))
    stamps.push(`${name}:${size}:${mtimeMs}`)
  }
  return stamps.join('\n')
}

interface ListFile {
  readonly path: string
  /** Name of the source by the file's name. */
  readonly source: string
}

async function chooseFiles(
  dir: string | null,
  list: string,
): Promise<{ files: readonly ListFile[]; replaced: boolean; taken: ReadonlySet<string> }> {
  const own = dir === null ? [] : await filesOf(dir, list, 'own')
  const replaced = own.some((file) => file.source === 'own')
  const taken = new Set(own.map((file) => file.source))
  const packaged = replaced ? [] : await filesOf(PACKAGED_DIR, list, 'packaged')
  const files = [...own, ...packaged.filter((file) => !taken.has(file.source))]
  return { files, replaced, taken }
}

async function filesOf(dir: string, list: string, plainName: string): Promise<readonly ListFile[]> {
  const files: ListFile[] = []
  for (const name of (await readdir(dir)).toSorted()) {
    const path = join(dir, name)
    if (name === `${list}.txt` || name === list) files.push({ path, source: plainName })
    else if (name.startsWith(`${list}.`) && name.endsWith('.txt')) {
      files.push({ path, source: name.slice(list.length + 1, -'.txt'.length) })
    }
  }
  return files
}

async function readNamePart(file: ListFile, list: NameListName): Promise<NamePart> {
  const names = new Set<string>()
  const header = await eachEntry(file, (entry) => {
    names.add(normalName(entry, list))
  })
  return { source: { ...header, count: names.size }, names }
}

/** Normalizes an entry: host names become A-labels; local parts and patterns lower case. */
function normalName(entry: string, list: NameListName): string {
  const lower = entry.toLowerCase().replace(/\.$/, '')
  if (list === 'role' || list === 'spam-trap') return lower
  return domainToASCII(lower) || lower
}

async function readRangePart(file: ListFile, list: RangeListName): Promise<RangePart> {
  const v4 = collectRanges(1)
  const v6 = collectRanges(4)
  const header = await eachEntry(file, (entry, line) => {
    const range = rangeEntry(entry, list)
    if (range === null) throw new Error(`${file.path} line ${line}: expected a block, got ${entry}`)
    const family = range.first.length === 4 ? v4 : v6
    family.add(range.first, range.last, range.level)
  })
  const source = { ...header, count: v4.count + v6.count }
  return { source, v4: await v4.tableInTurns(), v6: await v6.tableInTurns() }
}

async function readAsnPart(file: ListFile): Promise<AsnPart> {
  const asns = new Set<number>()
  const header = await eachEntry(file, (entry, line) => {
    const match = /^(?:AS)?(\d{1,10})(?:\s|$)/i.exec(entry)
    if (match === null) throw new Error(`${file.path} line ${line}: expected AS64500, got ${entry}`)
    asns.add(Number(match[1]))
  })
  return { source: { ...header, count: asns.size }, asns }
}

/** The range of an entry, with its level; null if the entry is malformed. */
export function rangeEntry(
  entry: string,
  list: RangeListName,
): { first: AddressBytes; last: AddressBytes; level: number } | null {
  const [text = '', levelText = '1'] = entry.split(/\s+/, 2)
  const block = parseBlock(text)
  const level = list === 'threat' ? Number(levelText) : 1
  if (block === null || !Number.isInteger(level) || level < 1) return null
  return { ...block, level: Math.min(level, LEVEL_MAX) }
}

/** Reads a list file entry by entry, yielding to other work; returns its header. */
async function eachEntry(
  file: ListFile,
  take: (entry: string, line: number) => void,
): Promise<Omit<ListSource, 'count'>> {
  const { size } = await stat(file.path)
  if (size > LIST_FILE_MAX_BYTES) {
    throw new Error(`${file.path} has ${size} bytes, expected at most ${LIST_FILE_MAX_BYTES}`)
  }
  const text = await readFile(file.path, 'utf8')
  const header = new Map<string, string>()
  let start = 0
  for (let line = 1; start < text.length; line++) {
    const end = text.indexOf('\n', start)
    const entry = text.slice(start, end < 0 ? text.length : end).trim()
    start = end < 0 ? text.length : end + 1
    if (entry.startsWith('#')) readHeader(entry, header)
    else if (entry !== '') take(withoutComment(entry), line)
    if (line % LINES_A_TURN === 0) await nextTurn()
  }
  return {
    name: file.source,
    origin: header.get('source') ?? file.path,
    licence: header.get('licence') ?? null,
    date: header.get('date') ?? null,
  }
}

/** A `#` within a word is part of it: local parts may have one. */
function withoutComment(entry: string): string {
  const at = entry.includes('#') ? entry.search(/\s#/) : -1
  return at < 0 ? entry : entry.slice(0, at).trimEnd()
}

function readHeader(line: string, header: Map<string, string>): void {
  const match = /^#\s*(source|licence|date):\s*(\S.*)$/.exec(line)
  if (match?.[1] !== undefined && match[2] !== undefined) header.set(match[1], match[2])
}
