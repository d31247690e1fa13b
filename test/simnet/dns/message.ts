import { TYPE } from './records.ts'
import type { Answer, Reply } from './records.ts'

const TTL_SECONDS = 300
const NEGATIVE_TTL_SECONDS = 60
const HEADER_BYTES = 12

/** The question of a query: its name, its type, and its end in the message. */
export interface Question {
  readonly name: string
  readonly type: number
  /** Where the question section ends in the message. */
  readonly endOffset: number
}

/**
 * Reads the one question of a query; undefined if the message is no query. Names are in lower case.
 */
export function readQuestion(message: Buffer): Question | undefined {
  if (
    message.length < HEADER_BYTES + 5 ||
    message.readUInt16BE(4) !== 1 ||
    (message[2] ?? 0) >= 0x80
  )
    return undefined
  let offset = HEADER_BYTES
  let name = ''
  for (;;) {
    const length = message[offset]
    if (length === undefined || length > 63 || offset + length + 5 > message.length)
      return undefined
    offset++
    if (length === 0) break
    if (name !== '') name += '.'
    name += message.toString('latin1', offset, offset + length)
    offset += length
  }
  if (offset + 4 > message.length) return undefined
  return { name: name.toLowerCase(), type: message.readUInt16BE(offset), endOffset: offset + 4 }
}

/** The maximum size of a UDP reply, according to the OPT record of the query; at least 512 bytes. */
export function udpLimitBytes(message: Buffer, question: Question): number {
  const at = question.endOffset
  if (message.readUInt16BE(10) === 0 || at + 5 > message.length || message[at] !== 0) return 512
  if (message.readUInt16BE(at + 1) !== TYPE.OPT) return 512
  return Math.max(512, message.readUInt16BE(at + 3))
}

/**
 * A complete reply with id 0 and the question as it was sent, with the flags of a recursive or an
 * authoritative server.
 */
export function encodeReply(
  query: Buffer,
  question: Question,
  reply: Reply,
  authoritative: boolean,
): Buffer {
  const parts: Buffer[] = [
    Buffer.alloc(HEADER_BYTES),
    query.subarray(HEADER_BYTES, question.endOffset),
  ]
  for (const answer of reply.answers) parts.push(encodeRecord(answer, question.name))
  if (reply.soaOf !== undefined)
    parts.push(
      encodeRecord({ type: 'SOA', name: reply.soaOf }, question.name, NEGATIVE_TTL_SECONDS),
    )
  const message = Buffer.concat(parts)
  const recursionDesired = (query[2] ?? 0) & 1
  message[2] = 0x80 | (authoritative ? 0x04 : 0) | recursionDesired
  message[3] = (authoritative ? 0 : 0x80) | reply.rcode
  message.writeUInt16BE(1, 4)
  message.writeUInt16BE(reply.answers.length, 6)
  message.writeUInt16BE(reply.soaOf === undefined ? 0 : 1, 8)
  return message
}

/** A reply with only header and question and the TC flag, which asks for a retry over TCP. */
export function truncated(reply: Buffer, question: Question): Buffer {
  const short = Buffer.from(reply.subarray(0, question.endOffset))
  short[2] = (short[2] ?? 0) | 0x02
  short.fill(0, 6, HEADER_BYTES)
  return short
}

/** The same reply under the id of another query. */
export function withId(reply: Buffer, query: Buffer): Buffer {
  const copy = Buffer.from(reply)
  copy[0] = query[0] ?? 0
  copy[1] = query[1] ?? 0
  return copy
}

/** A name in wire form, uncompressed. */
export function encodeName(name: string): Buffer {
  if (name === '') return Buffer.from([0])
  const parts: Buffer[] = []
  for (const label of name.split('.')) {
    const bytes = Buffer.from(label, 'latin1')
    parts.push(Buffer.from([bytes.length]), bytes)
  }
  parts.push(Buffer.from([0]))
  return Buffer.concat(parts)
}

function encodeRecord(record: Answer, asked: string, ttlSeconds = TTL_SECONDS): Buffer {
  const owner = record.name === asked ? Buffer.from([0xc0, HEADER_BYTES]) : encodeName(record.name)
  const data = encodeData(record)
  const middle = Buffer.alloc(10)
  middle.writeUInt16BE(TYPE[record.type], 0)
  middle.writeUInt16BE(1, 2)
  middle.writeUInt32BE(ttlSeconds, 4)
  middle.writeUInt16BE(data.length, 8)
  return Buffer.concat([owner, middle, data])
}

function encodeData(record: Answer): Buffer {
  switch (record.type) {
    case 'A':
      return Buffer.from(record.address.split('.').map(Number))
    case 'NS':
    case 'CNAME':
    case 'PTR':
      return encodeName(record.target)
    case 'MX': {
      const preference = Buffer.alloc(2)
      preference.writeUInt16BE(record.preference)
      return Buffer.concat([preference, encodeName(record.exchange)])
    }
    case 'TXT':
      return encodeText(record.text)
    case 'SOA': {
      const numbers = Buffer.alloc(20)
      for (const [i, value] of [2026_11_21, 7200, 900, 1_209_600, NEGATIVE_TTL_SECONDS].entries()) {
        numbers.writeUInt32BE(value, i * 4)
      }
      return Buffer.concat([
        encodeName('ns1.simdns.net'),
        encodeName('hostmaster.simdns.net'),
        numbers,
      ])
    }
  }
}

/** Character strings of at most 255 bytes each. */
function encodeText(text: string): Buffer {
  const bytes = Buffer.from(text, 'utf8')
  const parts: Buffer[] = []
  for (let at = 0; at === 0 || at < bytes.length; at += 255) {
    const piece = bytes.subarray(at, at + 255)
    parts.push(Buffer.from([piece.length]), piece)
  }
  return Buffer.concat(parts)
}
