import { crc32, deflateRawSync, constants } from 'node:zlib'

/** A file of an archive, with true or false headers. */
export interface RawEntry {
  readonly name: string
  /** The stored bytes. */
  readonly packed: Buffer
  readonly sizeBytes: number
  readonly packedBytes?: number
  readonly crc?: number
  /** 8 is deflate. */
  readonly method?: number
  readonly flags?: number
}

/** An entry with true headers. */
export function entryOf(name: string, text: string): RawEntry {
  const bytes = Buffer.from(text)
  return { name, packed: deflateRawSync(bytes), sizeBytes: bytes.length, crc: crc32(bytes) }
}

const PIECE_BYTES = 1024 * 1024

/**
 * An entry that unpacks to one character repeated, between two texts; built without holding it in
 * memory.
 */
export function bombOf(name: string, before: string, after: string, megabytes: number): RawEntry {
  const flush = { finishFlush: constants.Z_FULL_FLUSH, level: 9 }
  const piece = deflateRawSync(Buffer.alloc(PIECE_BYTES, ' '), flush)
  return {
    name,
    packed: Buffer.concat([
      deflateRawSync(Buffer.from(before), flush),
      ...Array.from({ length: megabytes }, () => piece),
      deflateRawSync(Buffer.from(after)),
    ]),
    sizeBytes: before.length + megabytes * PIECE_BYTES + after.length,
  }
}

/**
 * A ZIP file of entries with their headers as given. Source: APPNOTE 6.3, sections 4.3.7, 4.3.12
 * and 4.3.16.
 */
export function rawZip(entries: readonly RawEntry[], count = entries.length): Buffer {
  const files: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const entry of entries) {
    const name = Buffer.from(entry.name)
    const about = Buffer.alloc(26)
    about.writeUInt16LE(20, 0)
    about.writeUInt16LE((entry.flags ?? 0) | 0x800, 2)
    about.writeUInt16LE(entry.method ?? 8, 4)
    about.writeUInt32LE(entry.crc ?? 0, 10)
    about.writeUInt32LE(entry.packedBytes ?? entry.packed.length, 14)
    about.writeUInt32LE(entry.sizeBytes, 18)
    about.writeUInt16LE(name.length, 22)
    files.push(Buffer.from('504b0304', 'hex'), about, name, entry.packed)
    const rest = Buffer.alloc(14)
    rest.writeUInt32LE(offset, 10)
    directory.push(Buffer.from('504b01021400', 'hex'), about, rest, name)
    offset += 30 + name.length + entry.packed.length
  }
  const size = directory.reduce((sum, { length }) => sum + length, 0)
  const end = Buffer.alloc(18)
  end.writeUInt16LE(count & 0xffff, 4)
  end.writeUInt16LE(count & 0xffff, 6)
  end.writeUInt32LE(size, 8)
  end.writeUInt32LE(offset, 12)
  return Buffer.concat([...files, ...directory, Buffer.from('504b0506', 'hex'), end])
}
