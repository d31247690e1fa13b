import { parseBlock } from '@plumbline/net/address-bytes'

/** A value to be written; integers become uint32, other numbers doubles. */
export type Writable =
  | string
  | number
  | boolean
  | readonly Writable[]
  | { readonly [key: string]: Writable }

/** Layout of a test database. */
export interface MmdbLayout {
  readonly ipVersion: 4 | 6
  readonly recordSize: 24 | 28 | 32
  readonly type: string
  /** Unix time in seconds. */
  readonly buildEpoch: number
}

/**
 * Builds a MaxMind DB from blocks (in CIDR notation) and their records. Blocks must not overlap.
 */
export function buildMmdb(
  records: Readonly<Record<string, Writable>>,
  layout: Partial<MmdbLayout> = {},
): Buffer {
  const { ipVersion = 6, recordSize = 28, type = 'Test', buildEpoch = 1_780_000_000 } = layout
  const data: Buffer[] = []
  let dataBytes = 0
  const nodes: [Slot, Slot][] = [[null, null]]
  for (const [block, record] of Object.entries(records)) {
    insert(nodes, bitsOf(block, ipVersion), { offset: dataBytes })
    const bytes = encode(record)
    data.push(bytes)
    dataBytes += bytes.length
  }
  const tree = Buffer.concat(nodes.map((node) => nodeBytes(node, nodes.length, recordSize)))
  const metadata = encode({
    node_count: nodes.length,
    record_size: recordSize,
    ip_version: ipVersion,
    database_type: type,
    build_epoch: buildEpoch,
    binary_format_major_version: 2,
  })
  const marker = Buffer.from('\xab\xcd\xefMaxMind.com', 'latin1')
  return Buffer.concat([tree, Buffer.alloc(16), ...data, marker, metadata])
}

/** Encodes a value of the data section. */
export function encode(value: Writable): Buffer {
  if (typeof value === 'string') return tagged(2, Buffer.from(value))
  if (typeof value === 'boolean') return extended(14, value ? 1 : 0)
  if (typeof value === 'number')
    return Number.isInteger(value) && value >= 0 ? uint(value) : double(value)
  if (isList(value)) return Buffer.concat([extended(11, value.length), ...value.map(encode)])
  const entries = Object.entries(value)
  return Buffer.concat([
    header(7, entries.length),
    ...entries.flatMap(([key, item]) => [encode(key), encode(item)]),
  ])
}

/** A pointer to an offset of the data section below 2,048. */
export function pointerTo(offset: number): Buffer {
  return Buffer.from([0x20 | (offset >> 8), offset & 0xff])
}

/** Copies of a file with sizes in its metadata that cannot be allocated or make no sense. */
export function hostileSizes(whole: Buffer): readonly Buffer[] {
  const patched = (name: string, bytes: readonly number[]): Buffer => {
    const broken = Buffer.from(whole)
    const at = broken.lastIndexOf(encode(name)) + encode(name).length
    // A uint32 of the fixture: one byte of type and length, then four.
    Buffer.from(bytes).copy(broken, at + 1)
    return broken
  }
  return [
    patched('node_count', [0xff, 0xff, 0xff, 0xff]),
    patched('node_count', [0x7f, 0xff, 0xff, 0xff]),
    patched('node_count', [0x00, 0x10, 0x00, 0x00]),
    patched('record_size', [0, 0, 0, 0]),
    patched('record_size', [0, 0, 0, 25]),
    patched('record_size', [0xff, 0xff, 0xff, 0xe0]),
    patched('ip_version', [0, 0, 0, 5]),
  ]
}

type Slot = number | { readonly offset: number } | null

function bitsOf(block: string, ipVersion: 4 | 6): readonly number[] {
  const parsed = parseBlock(block)
  if (parsed === null) throw new Error(`expected a block, got ${block}`)
  const [, prefix = String(parsed.first.length * 8)] = block.split('/')
  const bits = [...parsed.first].flatMap((byte) =>
    Array.from({ length: 8 }, (_, bit) => (byte >> (7 - bit)) & 1),
  )
  const lead =
    ipVersion === 6 && parsed.first.length === 4 ? Array.from({ length: 96 }, () => 0) : []
  return [...lead, ...bits.slice(0, Number(prefix))]
}

function insert(nodes: [Slot, Slot][], bits: readonly number[], leaf: Slot): void {
  let node = 0
  bits.forEach((bit, depth) => {
    const pair = nodes[node]
    if (pair === undefined) return
    const side = bit === 0 ? 0 : 1
    if (depth === bits.length - 1) {
      pair[side] = leaf
      return
    }
    const held = pair[side]
    if (typeof held === 'number') node = held
    else {
      nodes.push([null, null])
      node = nodes.length - 1
      pair[side] = node
    }
  })
}

function nodeBytes(node: readonly [Slot, Slot], count: number, recordSize: 24 | 28 | 32): Buffer {
  const [left, right] = node.map((slot) => {
    if (slot === null) return count
    return typeof slot === 'number' ? slot : count + 16 + slot.offset
  })
  const bytes = Buffer.alloc(recordSize / 4)
  if (recordSize === 32) {
    bytes.writeUInt32BE(left ?? 0, 0)
    bytes.writeUInt32BE(right ?? 0, 4)
    return bytes
  }
  bytes.writeUIntBE((left ?? 0) & 0xff_ffff, 0, 3)
  bytes.writeUIntBE((right ?? 0) & 0xff_ffff, recordSize === 24 ? 3 : 4, 3)
  if (recordSize === 28) bytes[3] = (((left ?? 0) >> 24) << 4) | ((right ?? 0) >> 24)
  return bytes
}

function header(type: number, size: number): Buffer {
  if (size < 29) return Buffer.from([(type << 5) | size])
  return Buffer.from([(type << 5) | 29, size - 29])
}

function tagged(type: number, bytes: Buffer): Buffer {
  return Buffer.concat([header(type, bytes.length), bytes])
}

function extended(type: number, size: number): Buffer {
  return Buffer.from([size, type - 7])
}

function uint(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return tagged(6, bytes)
}

function double(value: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeDoubleBE(value)
  return tagged(3, bytes)
}

function isList(value: Writable): value is readonly Writable[] {
  return Array.isArray(value)
}
