import { setImmediate as nextTurn } from 'node:timers/promises'
import { type AddressBytes, parseAddress, v4Number } from '@plumbline/net/address-bytes'
import { rangeIndex } from './ranges.ts'

/** The network that announces an address. */
export interface AsnEntry {
  readonly asn: number
  readonly organization: string | null
}

/** Autonomous systems by address range. */
export interface AsnTable {
  readonly count: number
  find(address: AddressBytes): AsnEntry | null
}

/** Rows parsed between two turns of the event loop: about 5 ms of work. */
const ROWS_A_TURN = 8_000
const NEWLINE = 0x0a
const COMMA = 0x2c
const QUOTE = 0x22

/**
 * Builds the table from two CSV files of the form `first,last,asn,"organization"`, sorted by
 * address. `v4` has addresses as decimal numbers, `v6` as text.
 *
 * @throws if a row has another form
 */
export async function buildAsnTable(v4: Buffer, v6: Buffer): Promise<AsnTable> {
  const names = createNames()
  const four = await readRows(v4, 1, names)
  const six = await readRows(v6, 4, names)
  const organizations = names.sealed()
  return {
    count: four.asns.length + six.asns.length,
    find(address) {
      const rows = address.length === 4 ? four : six
      const index = rangeIndex(rows, address)
      const asn = index < 0 ? 0 : (rows.asns[index] ?? 0)
      return asn === 0 ? null : { asn, organization: organizations(asn) }
    },
  }
}

interface Rows {
  readonly words: 1 | 4
  readonly length: number
  readonly starts: Uint32Array
  readonly ends: Uint32Array
  readonly asns: Uint32Array
}

async function readRows(csv: Buffer, words: 1 | 4, names: Names): Promise<Rows> {
  const length = countLines(csv)
  const starts = new Uint32Array(length * words)
  const ends = new Uint32Array(length * words)
  const asns = new Uint32Array(length)
  let at = 0
  for (let row = 0; row < length; row++) {
    const end = lineEnd(csv, at)
    const comma1 = csv.indexOf(COMMA, at)
    const comma2 = csv.indexOf(COMMA, comma1 + 1)
    const comma3 = csv.indexOf(COMMA, comma2 + 1)
    if (comma1 < 0 || comma2 < 0 || comma3 < 0 || comma3 > end) throw rowError(row, csv, at, end)
    const known =
      setAddress(starts, row * words, csv, at, comma1) &&
      setAddress(ends, row * words, csv, comma1 + 1, comma2)
    const asn = decimal(csv, comma2 + 1, comma3)
    if (!known || asn < 0) throw rowError(row, csv, at, end)
    asns[row] = asn
    names.add(asn, csv, comma3 + 1, end)
    at = end + 1
    if (row % ROWS_A_TURN === ROWS_A_TURN - 1) await nextTurn()
  }
  return { words, length, starts, ends, asns }
}

function setAddress(
  into: Uint32Array,
  place: number,
  csv: Buffer,
  at: number,
  end: number,
): boolean {
  const value = decimal(csv, at, end)
  if (value >= 0) {
    into[place] = value
    return true
  }
  const bytes = parseAddress(csv.toString('latin1', at, end))
  if (bytes === null || bytes.length !== 16) return false
  for (let word = 0; word < 4; word++) into[place + word] = v4Number(bytes, word * 4)
  return true
}

/** An unsigned number of at most ten digits; -1 if the bytes are not one. */
function decimal(csv: Buffer, at: number, end: number): number {
  if (end <= at || end - at > 10) return -1
  let value = 0
  for (let index = at; index < end; index++) {
    const digit = (csv[index] ?? 0) - 0x30
    if (digit < 0 || digit > 9) return -1
    value = value * 10 + digit
  }
  return value
}

function countLines(csv: Buffer): number {
  let count = 0
  for (let at = csv.indexOf(NEWLINE); at >= 0; at = csv.indexOf(NEWLINE, at + 1)) count++
  return csv.length > 0 && csv.at(-1) !== NEWLINE ? count + 1 : count
}

function lineEnd(csv: Buffer, at: number): number {
  const end = csv.indexOf(NEWLINE, at)
  return end < 0 ? csv.length : end
}

function rowError(row: number, csv: Buffer, at: number, end: number): Error {
  const text = csv.toString('latin1', at, Math.min(end, at + 80))
  return new Error(`ASN data row ${row + 1}: expected first,last,asn,name, got ${text}`)
}

interface Names {
  add(asn: number, csv: Buffer, at: number, end: number): void
  sealed(): (asn: number) => string | null
}

/** Names by number, each stored once, in one block of bytes. */
function createNames(): Names {
  const parts: Buffer[] = []
  const places = new Map<number, number>()
  return {
    add(asn, csv, at, end) {
      if (places.has(asn)) return
      const trimmed = csv[end - 1] === 0x0d ? end - 1 : end
      const quoted = csv[at] === QUOTE
      places.set(asn, parts.length)
      parts.push(csv.subarray(quoted ? at + 1 : at, quoted ? trimmed - 1 : trimmed))
    },
    sealed() {
      const block = Buffer.concat(parts)
      const starts = new Uint32Array(parts.length + 1)
      parts.forEach((part, index) => {
        starts[index + 1] = (starts[index] ?? 0) + part.length
      })
      parts.length = 0
      return (asn) => {
        const place = places.get(asn)
        if (place === undefined) return null
        const name = block.toString('utf8', starts[place], starts[place + 1])
        return name === '' ? null : name.replaceAll('""', '"')
      }
    },
  }
}
