import { CHECKING_DISABLED, RECURSION_DESIRED, encode } from 'dns-packet'
import { formatAddress } from './address-bytes.ts'
import { readMessage, readName, TYPE_NUMBERS } from './dns-wire.ts'
import type { WireMessage, WireRecord } from './dns-wire.ts'

/** Data of an MX record. */
export interface MxRecord {
  readonly preference: number
  /** Lower case without the last dot; `.` for a null MX (RFC 7505). */
  readonly exchange: string
}

/** Data of an SOA record, only the fields that are used. */
export interface SoaRecord {
  readonly mname: string
  readonly rname: string
  readonly serial: number
  readonly minimum: number
}

/** Data of a record by type. TXT: the strings of one record joined without a space. */
export interface RecordOf {
  readonly A: string
  readonly AAAA: string
  readonly CNAME: string
  readonly MX: MxRecord
  readonly NS: string
  readonly PTR: string
  readonly SOA: SoaRecord
  readonly TXT: string
}
/** A record type that can be queried. */
export type RecordType = keyof RecordOf

/** A parsed record; `data` has the shape that `RecordOf` gives for its type. */
export type DnsRecord = {
  readonly [T in RecordType]: {
    readonly name: string
    readonly type: T
    readonly ttlSeconds: number
    readonly data: RecordOf[T]
  }
}[RecordType]

/** A DNS question. */
export interface DnsQuestion {
  readonly name: string
  readonly type: RecordType
}

/** Header bits of a query. */
export interface QueryFlags {
  readonly recursionDesired: boolean
  readonly checkingDisabled: boolean
  /** EDNS(0) with a UDP size of 1232 (dnsflagday.net/2020). */
  readonly edns: boolean
}

/** A reply, only the fields that the resolver uses. */
export interface DnsReply {
  /** Extended RCODE: 0 no error, 1 format error, 2 server failure, 3 no such name, 5 refused. */
  readonly code: number
  readonly authoritative: boolean
  readonly truncated: boolean
  readonly recursionAvailable: boolean
  readonly answers: readonly DnsRecord[]
  readonly authorities: readonly DnsRecord[]
}

/** Maximum number of records parsed from one section; further ones are ignored. */
const MAX_SECTION_RECORDS = 256

const UDP_PAYLOAD_BYTES = 1232
const MAX_NAME_LENGTH = 253
const MAX_LABEL_BYTES = 63

/**
 * The form in which a name is sent and compared: lower case, without the trailing dot. Null for
 * names that cannot be sent: an empty label, one over 63 bytes, over 253 in all, not printable
 * ASCII. The root is `.`.
 */
export function questionName(name: string): string | null {
  if (name === '.') return name
  const bare = name.endsWith('.') ? name.slice(0, -1) : name
  if (bare.length === 0 || bare.length > MAX_NAME_LENGTH || !/^[\x21-\x7e]+$/.test(bare))
    return null
  if (bare.split('.').some((label) => label === '' || label.length > MAX_LABEL_BYTES)) return null
  return bare.toLowerCase()
}

/** The wire form of a question. */
export function encodeQuery(id: number, question: DnsQuestion, flags: QueryFlags): Buffer {
  return encode({
    type: 'query',
    id,
    flags:
      (flags.recursionDesired ? RECURSION_DESIRED : 0) |
      (flags.checkingDisabled ? CHECKING_DISABLED : 0),
    questions: [{ name: question.name, type: question.type }],
    additionals: flags.edns
      ? [
          {
            type: 'OPT',
            name: '.',
            udpPayloadSize: UDP_PAYLOAD_BYTES,
            extendedRcode: 0,
            ednsVersion: 0,
            flags: 0,
            flag_do: false,
            options: [],
          },
        ]
      : [],
  })
}

/**
 * A datagram's relation to the open question: its reply, a foreign one to be ignored, or garbage.
 */
export type Reading =
  | { readonly kind: 'reply'; readonly reply: DnsReply }
  | { readonly kind: 'foreign' | 'malformed' }

/** Parses a message and compares it with the question and id it should answer. */
export function readReply(message: Buffer, id: number, question: DnsQuestion): Reading {
  // The header alone says whether the message is meant for this question.
  if (message.length < 12 || message.readUInt16BE(0) !== id) return { kind: 'foreign' }
  if ((message.readUInt8(2) & 0x80) === 0) return { kind: 'foreign' }
  try {
    return readParts(message, readMessage(message), question)
  } catch {
    return (message.readUInt8(2) & TRUNCATED) === 0
      ? { kind: 'malformed' }
      : readWithoutRecords(message, question)
  }
}

/** The bit of a truncated reply, in the third byte of a message. */
const TRUNCATED = 0x02

/**
 * A truncated reply may end within a record; the query is repeated, whatever it holds (RFC 2181
 * section 9).
 */
function readWithoutRecords(message: Buffer, question: DnsQuestion): Reading {
  const head = Buffer.from(message)
  head.fill(0, 6, 12)
  try {
    return readParts(head, readMessage(head), question)
  } catch {
    return { kind: 'malformed' }
  }
}

function readParts(message: Buffer, wire: WireMessage, question: DnsQuestion): Reading {
  if (!echoes(wire, question)) return { kind: 'foreign' }
  const flags = message.readUInt16BE(2)
  return {
    kind: 'reply',
    reply: {
      code: (flags & 15) | (extendedCode(wire) << 4),
      authoritative: (flags & 0x400) !== 0,
      truncated: (flags & 0x200) !== 0,
      recursionAvailable: (flags & 0x80) !== 0,
      answers: recordsOf(message, wire.answers),
      authorities: recordsOf(message, wire.authorities),
    },
  }
}

function echoes({ question: echoed, answers }: WireMessage, question: DnsQuestion): boolean {
  // Servers that fail early may leave the question out (RFC 1035 section 4.1.1 allows a count of
  // 0).
  if (echoed === null) return answers.length === 0
  return echoed.type === TYPE_NUMBERS[question.type] && echoed.name.toLowerCase() === question.name
}

/** The upper bits of the code, which EDNS has where other records have their TTL (RFC 6891 6.1.3). */
function extendedCode({ additionals }: WireMessage): number {
  const edns = additionals.find(({ type }) => type === TYPE_NUMBERS.OPT)
  return edns === undefined ? 0 : edns.ttlSeconds >>> 24
}

function recordsOf(message: Buffer, section: readonly WireRecord[]): DnsRecord[] {
  const records: DnsRecord[] = []
  for (const each of section) {
    if (records.length === MAX_SECTION_RECORDS) break
    const record = recordOf(message, each)
    if (record !== null) records.push(record)
  }
  return records
}

/** Record types by number. */
const TYPES: ReadonlyMap<number, RecordType | 'OPT'> = new Map(
  (Object.keys(TYPE_NUMBERS) as (RecordType | 'OPT')[]).map((type) => [TYPE_NUMBERS[type], type]),
)

/** The record at a place, null if it is not used; names are read for records that are used only. */
function recordOf(message: Buffer, place: WireRecord): DnsRecord | null {
  const { ttlSeconds, dataAt, dataEnd } = place
  const type = TYPES.get(place.type)
  if (type === undefined || type === 'OPT') return null
  const name = hostName(readName(message, place.nameAt).name)
  if (name === null) return null
  switch (type) {
    case 'A':
    case 'AAAA': {
      const data = addressOf(message.subarray(dataAt, dataEnd), type)
      return { name, type, ttlSeconds, data }
    }
    case 'CNAME':
    case 'NS':
    case 'PTR': {
      const data = hostName(nameWithin(message, dataAt, dataEnd).name)
      return data === null ? null : { name, type, ttlSeconds, data }
    }
    case 'MX': {
      const exchange = hostName(nameWithin(message, dataAt + 2, dataEnd).name)
      if (exchange === null) return null
      return {
        name,
        type,
        ttlSeconds,
        data: { preference: message.readUInt16BE(dataAt), exchange },
      }
    }
    case 'SOA':
      return { name, type, ttlSeconds, data: soaOf(message, dataAt, dataEnd) }
    case 'TXT':
      return { name, type, ttlSeconds, data: joinStrings(message.subarray(dataAt, dataEnd)) }
  }
}

function addressOf(data: Buffer, type: 'A' | 'AAAA'): string {
  const size = type === 'A' ? 4 : 16
  if (data.length !== size) throw new Error(`expected ${size} bytes of ${type}, got ${data.length}`)
  return formatAddress(data)
}

function nameWithin(message: Buffer, at: number, dataEnd: number): ReturnType<typeof readName> {
  const read = readName(message, at)
  if (read.end > dataEnd) throw new Error('a name is longer than its record')
  return read
}

function soaOf(message: Buffer, at: number, dataEnd: number): SoaRecord {
  const mname = nameWithin(message, at, dataEnd)
  const rname = nameWithin(message, mname.end, dataEnd)
  // Serial, refresh, retry, expire, minimum: four bytes each.
  if (rname.end + 20 > dataEnd) throw new Error('an SOA record is too short')
  return {
    mname: hostName(mname.name) ?? '.',
    rname: hostName(rname.name) ?? '.',
    serial: message.readUInt32BE(rname.end),
    minimum: message.readUInt32BE(rname.end + 16),
  }
}

// Names that no host can have (spaces, controls, bytes that are not text) are left out: they would
// appear in logs and evidence, and no lookup of them can succeed.
function hostName(name: string): string | null {
  return questionName(name)
}

/** The character strings of a TXT record, each after a byte with its length, without a space. */
function joinStrings(data: Buffer): string {
  const parts: Buffer[] = []
  for (let at = 0; at < data.length;) {
    const end = at + 1 + data.readUInt8(at)
    if (end > data.length) throw new Error('a string is longer than its record')
    parts.push(data.subarray(at + 1, end))
    at = end
  }
  return Buffer.concat(parts).toString('utf8')
}
