/** Where a record is in a message. */
export interface WireRecord {
  readonly nameAt: number
  readonly type: number
  readonly ttlSeconds: number
  readonly dataAt: number
  readonly dataEnd: number
}

/** The parts of a message; names and data of its records are not read yet. */
export interface WireMessage {
  readonly question: { readonly name: string; readonly type: number } | null
  readonly answers: readonly WireRecord[]
  readonly authorities: readonly WireRecord[]
  readonly additionals: readonly WireRecord[]
}

/** Numbers of record types. Source: IANA, DNS parameters. */
export const TYPE_NUMBERS = {
  A: 1,
  NS: 2,
  CNAME: 5,
  SOA: 6,
  PTR: 12,
  MX: 15,
  TXT: 16,
  AAAA: 28,
  OPT: 41,
} as const

/** Bytes of the header; and of a name's labels without the last, empty one (RFC 1035 2.3.4). */
const HEADER_BYTES = 12
const MAX_NAME_BYTES = 254

/**
 * Compression pointers of one name. A server needs one, and a few where it compresses the end of
 * what is pointed to; the resolver of Go has the same bound at ten.
 */
const MAX_POINTERS = 16

/**
 * Finds the records of a message in one pass, without following a compression pointer: its time is
 * proportional to the size, whatever the message holds.
 *
 * @throws if the message is malformed or has several questions (RFC 9619)
 */
export function readMessage(message: Buffer): WireMessage {
  const questionCount = message.readUInt16BE(4)
  if (questionCount > 1) throw new Error(`expected one question, got ${questionCount}`)
  let at = HEADER_BYTES
  let question: WireMessage['question'] = null
  if (questionCount === 1) {
    const { name } = readName(message, at)
    at = endOfName(message, at)
    question = { name, type: message.readUInt16BE(at) }
    at += 4
  }
  const section = (countAt: number): WireRecord[] => {
    const records: WireRecord[] = []
    for (let left = message.readUInt16BE(countAt); left > 0; left--) {
      const record = recordAt(message, at)
      records.push(record)
      at = record.dataEnd
    }
    return records
  }
  return { question, answers: section(6), authorities: section(8), additionals: section(10) }
}

function recordAt(message: Buffer, nameAt: number): WireRecord {
  const at = endOfName(message, nameAt)
  const dataAt = at + 10
  const dataEnd = dataAt + message.readUInt16BE(at + 8)
  if (dataEnd > message.length) throw new Error('a record is longer than its message')
  const ttlSeconds = message.readUInt32BE(at + 4)
  return { nameAt, type: message.readUInt16BE(at), ttlSeconds, dataAt, dataEnd }
}

/** The offset after a name, which ends with an empty label or a pointer. */
function endOfName(message: Buffer, start: number): number {
  for (let at = start; at - start <= MAX_NAME_BYTES;) {
    const length = message.readUInt8(at)
    if (length === 0) return at + 1
    if (length >= 0xc0) return at + 2
    if (length >= 0x40) break
    at += length + 1
  }
  throw new Error('a name is malformed or too long')
}

/**
 * Reads a name: its labels joined with dots, `.` for the root, and the offset after it. A pointer
 * must lead to before the part of the name that it ends (RFC 1035 section 4.1.4).
 *
 * @throws if it is malformed, too long, or has more than 16 pointers
 */
export function readName(message: Buffer, start: number): { name: string; end: number } {
  const labels: string[] = []
  let at = start
  let partAt = start
  let bytes = 0
  let pointers = 0
  let end: number | null = null
  for (;;) {
    const length = message.readUInt8(at)
    if (length === 0) return { name: labels.join('.') || '.', end: end ?? at + 1 }
    if (length >= 0xc0) {
      const target = message.readUInt16BE(at) & 0x3fff
      if (target >= partAt || ++pointers > MAX_POINTERS) throw new Error('a name has a bad pointer')
      end ??= at + 2
      at = target
      partAt = target
      continue
    }
    bytes += length + 1
    if (length >= 0x40 || bytes > MAX_NAME_BYTES || at + length >= message.length) {
      throw new Error('a name is malformed or too long')
    }
    labels.push(message.toString('utf8', at + 1, at + 1 + length))
    at += length + 1
  }
}
