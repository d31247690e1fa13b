import { type AddressBytes, v4Number } from '@plumbline/net/address-bytes'
import { newestDate } from './name-list.ts'
import type { RangeTable, Ranges } from './range-table.ts'
import type { ListSource, RangeListName } from './source.ts'

/** An entry that contains an address. */
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
  /** Every source that lists the address. */
  matches(address: AddressBytes): readonly RangeMatch[]
}

/** The ranges of one source. */
export interface RangePart {
  readonly source: ListSource
  readonly v4: RangeTable
  readonly v6: RangeTable
}

const NO_MATCHES: readonly RangeMatch[] = []

/** Creates a list from its parts. */
export function buildRanges(name: RangeListName, parts: readonly RangePart[]): RangeList {
  const filled = {
    4: parts.filter((part) => part.v4.length > 0),
    6: parts.filter((part) => part.v6.length > 0),
  }
  const matches = (address: AddressBytes): readonly RangeMatch[] => {
    let found: RangeMatch[] | null = null
    for (const part of address.length === 4 ? filled[4] : filled[6]) {
      const level = levelAt(address.length === 4 ? part.v4 : part.v6, address)
      if (level > 0) (found ??= []).push({ source: part.source, level })
    }
    return found ?? NO_MATCHES
  }
  return {
    name,
    sources: parts.map((part) => part.source),
    count: parts.reduce((sum, part) => sum + part.source.count, 0),
    date: newestDate(parts.map((part) => part.source)),
    has: (address) => matches(address).length > 0,
    matches,
  }
}

/** Level at an address; 0 if no range contains it. */
export function levelAt(table: RangeTable, address: AddressBytes): number {
  const index = rangeIndex(table, address)
  return index < 0 ? 0 : (table.levels[index] ?? 0)
}

/** Index of the range that contains an address; -1 if none does. */
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
    if (compareAt(starts, middle * 4, key) > 0) high = middle - 1
    else if (compareAt(ends, middle * 4, key) < 0) low = middle + 1
    else return middle
  }
  return -1
}

function compareAt(words: Uint32Array, at: number, key: readonly number[]): number {
  for (let index = 0; index < key.length; index++) {
    const difference = (words[at + index] ?? 0) - (key[index] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}
