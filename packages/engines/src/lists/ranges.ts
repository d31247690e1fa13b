import { type AddressBytes, v4Number } from '../ip/address.ts'
import { newestDate } from './names.ts'
import type { ListSource, RangeListName } from './source.ts'

/** What a listed address matched. */
export interface RangeMatch {
  readonly source: ListSource
  /** Level of a threat entry; 1 in lists without levels. */
  readonly level: number
}

/** A list of address ranges, one table for each source and family. */
export interface RangeList {
  readonly name: RangeListName
  readonly sources: readonly ListSource[]
  readonly count: number
  readonly date: string | null
  has(address: AddressBytes): boolean
  /** Strongest level of any source; null where none lists the address. */
  level(address: AddressBytes): number | null
  /** Every source that lists the address. */
  matches(address: AddressBytes): readonly RangeMatch[]
}

/** One block to be listed. */
export interface RangeEntry {
  readonly first: AddressBytes
  readonly last: AddressBytes
  readonly level: number
}

/** Sorted ranges that do not overlap: IPv4 one word an address, IPv6 four, highest word first. */
export interface Ranges {
  readonly words: 1 | 4
  readonly length: number
  readonly starts: Uint32Array
  readonly ends: Uint32Array
}

/** Ranges with a level of 1 and above each. */
export interface RangeTable extends Ranges {
  readonly levels: Uint16Array
}

/** The ranges of one source. */
export interface RangePart {
  readonly source: ListSource
  readonly v4: RangeTable
  readonly v6: RangeTable
}

/** A list over its parts. */
export function buildRanges(name: RangeListName, parts: readonly RangePart[]): RangeList {
  const filled = parts.filter((part) => part.v4.length + part.v6.length > 0)
  const levelIn = (part: RangePart, address: AddressBytes): number =>
    levelAt(address.length === 4 ? part.v4 : part.v6, address)
  const level = (address: AddressBytes): number | null => {
    let most = 0
    for (const part of filled) most = Math.max(most, levelIn(part, address))
    return most === 0 ? null : most
  }
  return {
    name,
    sources: parts.map((part) => part.source),
    count: parts.reduce((sum, part) => sum + part.source.count, 0),
    date: newestDate(parts.map((part) => part.source)),
    has: (address) => level(address) !== null,
    level,
    matches: (address) =>
      filled.flatMap((part) => {
        const found = levelIn(part, address)
        return found === 0 ? [] : [{ source: part.source, level: found }]
      }),
  }
}

/** Sorted, merged ranges of one family; where blocks overlap the strongest level holds. */
export function tableOf(entries: readonly RangeEntry[], words: 1 | 4): RangeTable {
  const sorted = entries.toSorted((a, b) => compareBytes(a.first, b.first))
  const rows: RangeEntry[] = []
  for (const entry of sorted) addRow(rows, entry)
  const starts = new Uint32Array(rows.length * words)
  const ends = new Uint32Array(rows.length * words)
  const levels = new Uint16Array(rows.length)
  rows.forEach((row, index) => {
    for (let word = 0; word < words; word++) {
      starts[index * words + word] = v4Number(row.first, word * 4)
      ends[index * words + word] = v4Number(row.last, word * 4)
    }
    levels[index] = row.level
  })
  return { words, length: rows.length, starts, ends, levels }
}

/** Level at an address; 0 where no range holds it. */
export function levelAt(table: RangeTable, address: AddressBytes): number {
  const index = rangeIndex(table, address)
  return index < 0 ? 0 : (table.levels[index] ?? 0)
}

/** Index of the range that holds an address; -1 where none does. */
export function rangeIndex(ranges: Ranges, address: AddressBytes): number {
  return ranges.words === 1 ? indexOfV4(ranges, v4Number(address)) : indexOfV6(ranges, address)
}

function indexOfV4({ starts, ends, length }: Ranges, key: number): number {
  let low = 0
  let high = length - 1
  while (low <= high) {
    const middle = (low + high) >>> 1
    if ((starts[middle] ?? 0) > key) high = middle - 1
    else if ((ends[middle] ?? 0) < key) low = middle + 1
    else return middle
  }
  return -1
}

function indexOfV6({ starts, ends, length }: Ranges, address: AddressBytes): number {
  if (length === 0) return -1
  const key = [0, 4, 8, 12].map((offset) => v4Number(address, offset))
  let low = 0
  let high = length - 1
  while (low <= high) {
    const middle = (low + high) >>> 1
    if (compareWords(starts, middle * 4, key) > 0) high = middle - 1
    else if (compareWords(ends, middle * 4, key) < 0) low = middle + 1
    else return middle
  }
  return -1
}

function compareWords(words: Uint32Array, at: number, key: readonly number[]): number {
  for (let index = 0; index < key.length; index++) {
    const difference = (words[at + index] ?? 0) - (key[index] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}

function compareBytes(a: AddressBytes, b: AddressBytes): number {
  for (let index = 0; index < a.length; index++) {
    const difference = (a[index] ?? 0) - (b[index] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}

/**
 * Adds a block to rows sorted so far. CIDR blocks nest or are apart, so an overlap is a block inside
 * the last row: the part that is stronger is cut out, or swallowed where it is not.
 */
function addRow(rows: RangeEntry[], entry: RangeEntry): void {
  const last = rows.at(-1)
  if (last === undefined || compareBytes(entry.first, last.last) > 0) {
    rows.push(joinable(last, entry) ? { ...entry, first: (rows.pop() ?? entry).first } : entry)
    return
  }
  if (entry.level <= last.level) {
    if (compareBytes(entry.last, last.last) > 0) addRow(rows, { ...entry, first: next(last.last) })
    return
  }
  rows.pop()
  if (compareBytes(last.first, entry.first) < 0) rows.push({ ...last, last: previous(entry.first) })
  rows.push(entry)
  if (compareBytes(entry.last, last.last) < 0) rows.push({ ...last, first: next(entry.last) })
}

function joinable(last: RangeEntry | undefined, entry: RangeEntry): boolean {
  if (last === undefined || last.level !== entry.level) return false
  return last.last.some((byte) => byte !== 0xff) && compareBytes(next(last.last), entry.first) === 0
}

function next(bytes: AddressBytes): AddressBytes {
  const result = bytes.slice()
  for (let index = result.length - 1; index >= 0; index--) {
    const sum = (result[index] ?? 0) + 1
    result[index] = sum & 0xff
    if (sum <= 0xff) break
  }
  return result
}

function previous(bytes: AddressBytes): AddressBytes {
  const result = bytes.slice()
  for (let index = result.length - 1; index >= 0; index--) {
    const difference = (result[index] ?? 0) - 1
    result[index] = difference & 0xff
    if (difference >= 0) break
  }
  return result
}
