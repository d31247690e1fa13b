import { CHECKING_DISABLED, RECURSION_DESIRED, decode, encode } from 'dns-packet'
import type { Answer, DecodedPacket } from 'dns-packet'

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
  let packet: DecodedPacket
  try {
    packet = decode(message)
  } catch {
    return { kind: 'malformed' }
  }
  if (!echoes(packet, question)) return { kind: 'foreign' }
  const code = (message.readUInt8(3) & 15) | (extendedCode(packet) << 4)
  return {
    kind: 'reply',
    reply: {
      code,
      authoritative: packet.flag_aa,
      truncated: packet.flag_tc,
      recursionAvailable: packet.flag_ra,
      answers: recordsOf(packet.answers),
      authorities: recordsOf(packet.authorities),
    },
  }
}

function echoes(packet: DecodedPacket, question: DnsQuestion): boolean {
  const echoed = packet.questions?.[0]
  // Servers that fail early may leave the question out (RFC 1035 section 4.1.1 allows a count of
  // 0).
  if (echoed === undefined) return packet.answers?.length === 0
  return echoed.type === question.type && echoed.name.toLowerCase() === question.name
}

function extendedCode(packet: DecodedPacket): number {
  for (const extra of packet.additionals ?? []) if (extra.type === 'OPT') return extra.extendedRcode
  return 0
}

function recordsOf(section: readonly Answer[] | undefined): DnsRecord[] {
  const records: DnsRecord[] = []
  for (const answer of section ?? []) {
    if (records.length === MAX_SECTION_RECORDS) break
    const record = recordOf(answer)
    if (record !== null) records.push(record)
  }
  return records
}

function recordOf(answer: Answer): DnsRecord | null {
  const name = hostName(answer.name)
  if (name === null || answer.type === 'OPT') return null
  const ttlSeconds = 'ttl' in answer && typeof answer.ttl === 'number' ? answer.ttl : 0
  switch (answer.type) {
    case 'A':
    case 'AAAA':
      return { name, type: answer.type, ttlSeconds, data: answer.data }
    case 'CNAME':
    case 'NS':
    case 'PTR': {
      const data = hostName(answer.data)
      return data === null ? null : { name, type: answer.type, ttlSeconds, data }
    }
    case 'MX': {
      const exchange = hostName(answer.data.exchange)
      if (exchange === null) return null
      return {
        name,
        type: 'MX',
        ttlSeconds,
        data: { preference: answer.data.preference ?? 0, exchange },
      }
    }
    case 'SOA':
      return {
        name,
        type: 'SOA',
        ttlSeconds,
        data: {
          mname: hostName(answer.data.mname) ?? '.',
          rname: hostName(answer.data.rname) ?? '.',
          serial: answer.data.serial ?? 0,
          minimum: answer.data.minimum ?? 0,
        },
      }
    case 'TXT':
      return { name, type: 'TXT', ttlSeconds, data: joinStrings(answer.data) }
    default:
      return null
  }
}

// Names that no host can have (spaces, controls, bytes that are not text) are left out: they would
// appear in logs and evidence, and no lookup of them can succeed.
function hostName(name: string): string | null {
  return questionName(name)
}

function joinStrings(data: string | Buffer | (string | Buffer)[]): string {
  const parts = Array.isArray(data) ? data : [data]
  return Buffer.concat(parts.map((part) => Buffer.from(part))).toString('utf8')
}
