/** A value in the data section of a MaxMind DB; integers beyond 2^53 lose their last digits. */
export type MmdbValue = string | number | boolean | null | readonly MmdbValue[] | MmdbMap

/** A map of a MaxMind DB. */
export interface MmdbMap {
  readonly [key: string]: MmdbValue
}

/** Whether a value is a map. */
export function isMmdbMap(value: MmdbValue | undefined): value is MmdbMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A MaxMind DB that breaks its format. */
export class MmdbError extends Error {
  override readonly name = 'MmdbError'
}

/** Limits of one record, far above those of real ones (below 400 values, 6 levels). */
const VALUES_MAX = 20_000
const DEPTH_MAX = 32
const STRING_MAX_BYTES = 65_536

/** Type numbers. Source: MaxMind DB file format specification 2.0, "Data Field Format". */
const TYPE = {
  extended: 0,
  pointer: 1,
  string: 2,
  double: 3,
  bytes: 4,
  uint16: 5,
  uint32: 6,
  map: 7,
  int32: 8,
  uint64: 9,
  uint128: 10,
  array: 11,
  boolean: 14,
  float: 15,
} as const

/** Values added to a pointer by its size. Source: the same, "pointer". */
const POINTER_BASE = [0, 2048, 526_336, 0] as const

/** Names in other languages are skipped. */
const ENGLISH = 'en'

/** Map keys by their offset in the data: a file has some dozens, referred to millions of times. */
export type KeyCache = Map<number, string>

/** Maximum number of cached keys; a hostile file could have any number. */
const KEYS_MAX = 4_096

interface Cursor {
  readonly buffer: Buffer
  readonly start: number
  readonly end: number
  readonly keys: KeyCache
  /** Number of values that this record may still have. */
  left: number
  at: number
}

/**
 * Decodes the value at `offset`, between `start` and `end` of the data section, which pointers
 * refer to. Of maps under the key `names` only the English entry is kept.
 *
 * @throws MmdbError on anything out of bounds
 */
export function decodeValue(
  buffer: Buffer,
  start: number,
  end: number,
  offset: number,
  keys: KeyCache,
): MmdbValue {
  return decode({ buffer, start, end, keys, left: VALUES_MAX, at: offset }, 0, false)
}

function decode(cursor: Cursor, depth: number, namesOnly: boolean): MmdbValue {
  if (depth > DEPTH_MAX) throw new MmdbError(`expected at most ${DEPTH_MAX} levels, got more`)
  if (--cursor.left < 0) throw new MmdbError(`expected at most ${VALUES_MAX} values in a record`)
  const control = byte(cursor)
  let type = control >> 5
  if (type === TYPE.pointer) return decodePointed(cursor, control, depth, namesOnly)
  if (type === TYPE.extended) type = byte(cursor) + 7
  const size = sizeOf(cursor, control & 0x1f)
  if (type === TYPE.map) return decodeMap(cursor, size, depth, namesOnly)
  if (type === TYPE.array) return decodeArray(cursor, size, depth)
  return decodeScalar(cursor, type, size)
}

function decodePointed(
  cursor: Cursor,
  control: number,
  depth: number,
  namesOnly: boolean,
): MmdbValue {
  const target = pointer(cursor, control)
  const after = cursor.at
  cursor.at = target
  if ((cursor.buffer[target] ?? 0) >> 5 === TYPE.pointer) {
    throw new MmdbError('expected a value, got a pointer to a pointer')
  }
  const value = decode(cursor, depth + 1, namesOnly)
  cursor.at = after
  return value
}

function decodeMap(cursor: Cursor, size: number, depth: number, namesOnly: boolean): MmdbValue {
  const map: { [key: string]: MmdbValue } = {}
  for (let entry = 0; entry < size; entry++) {
    const key = decodeKey(cursor, depth + 1)
    if ((namesOnly && key !== ENGLISH) || key === '__proto__') skip(cursor, depth + 1)
    else map[key] = decode(cursor, depth + 1, key === 'names')
  }
  return map
}

function decodeKey(cursor: Cursor, depth: number): string {
  const pointed = (cursor.buffer[cursor.at] ?? 0) >> 5 === TYPE.pointer
  const target = pointed ? pointer(cursor, byte(cursor)) : cursor.at
  const held = pointed ? cursor.keys.get(target) : undefined
  if (held !== undefined) return held
  const after = cursor.at
  cursor.at = target
  const key = decode(cursor, depth, false)
  if (typeof key !== 'string') throw new MmdbError('expected a text as key of a map')
  if (!pointed) return key
  cursor.at = after
  if (cursor.keys.size < KEYS_MAX) cursor.keys.set(target, key)
  return key
}

function decodeArray(cursor: Cursor, size: number, depth: number): MmdbValue {
  const values: MmdbValue[] = []
  for (let entry = 0; entry < size; entry++) values.push(decode(cursor, depth + 1, false))
  return values
}

function decodeScalar(cursor: Cursor, type: number, size: number): MmdbValue {
  if (type === TYPE.boolean) return size !== 0
  const at = advance(cursor, size)
  switch (type) {
    case TYPE.string:
      if (size > STRING_MAX_BYTES) throw new MmdbError(`expected a text, got ${size} bytes`)
      // Long texts count as several values, since many pointers can refer to one of them.
      cursor.left -= size >>> 5
      return cursor.buffer.toString('utf8', at, at + size)
    case TYPE.double:
      if (size !== 8) throw new MmdbError(`expected a double of 8 bytes, got ${size}`)
      return cursor.buffer.readDoubleBE(at)
    case TYPE.float:
      if (size !== 4) throw new MmdbError(`expected a float of 4 bytes, got ${size}`)
      return cursor.buffer.readFloatBE(at)
    case TYPE.uint16:
    case TYPE.uint32:
    case TYPE.uint64:
    case TYPE.uint128:
      return unsigned(cursor.buffer, at, size, type)
    case TYPE.int32:
      return unsigned(cursor.buffer, at, size, type) | 0
    case TYPE.bytes:
      return null
    default:
      throw new MmdbError(`expected a known type, got ${type}`)
  }
}

/** Skips one value without decoding it. */
function skip(cursor: Cursor, depth: number): void {
  if (depth > DEPTH_MAX) throw new MmdbError(`expected at most ${DEPTH_MAX} levels, got more`)
  if (--cursor.left < 0) throw new MmdbError(`expected at most ${VALUES_MAX} values in a record`)
  const control = byte(cursor)
  let type = control >> 5
  if (type === TYPE.pointer) {
    pointer(cursor, control)
    return
  }
  if (type === TYPE.extended) type = byte(cursor) + 7
  const size = sizeOf(cursor, control & 0x1f)
  if (type === TYPE.map || type === TYPE.array) {
    const values = type === TYPE.map ? size * 2 : size
    for (let value = 0; value < values; value++) skip(cursor, depth + 1)
  } else if (type !== TYPE.boolean) advance(cursor, size)
}

function unsigned(buffer: Buffer, at: number, size: number, type: number): number {
  const most = type === TYPE.uint128 ? 16 : type === TYPE.uint64 ? 8 : type === TYPE.uint16 ? 2 : 4
  if (size > most) throw new MmdbError(`expected a number of at most ${most} bytes, got ${size}`)
  let value = 0
  for (let index = 0; index < size; index++) value = value * 256 + (buffer[at + index] ?? 0)
  return value
}

function pointer(cursor: Cursor, control: number): number {
  const size = (control >> 3) & 3
  let value = size === 3 ? 0 : control & 7
  for (let index = 0; index <= size; index++) value = value * 256 + byte(cursor)
  const target = cursor.start + value + (POINTER_BASE[size] ?? 0)
  if (target >= cursor.end) throw new MmdbError(`expected a pointer into the data, got ${value}`)
  return target
}

/** Sizes from 29 on are stored in one to three further bytes. */
function sizeOf(cursor: Cursor, code: number): number {
  if (code < 29) return code
  if (code === 29) return 29 + byte(cursor)
  if (code === 30) return 285 + byte(cursor) * 256 + byte(cursor)
  return 65_821 + byte(cursor) * 65_536 + byte(cursor) * 256 + byte(cursor)
}

function byte(cursor: Cursor): number {
  const at = advance(cursor, 1)
  return cursor.buffer[at] ?? 0
}

function advance(cursor: Cursor, bytes: number): number {
  const at = cursor.at
  cursor.at = at + bytes
  if (cursor.at > cursor.end) throw new MmdbError('expected more bytes, got the end of the data')
  return at
}
