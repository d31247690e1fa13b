import { isAscii, isUtf8 } from 'node:buffer'
import type { Encoding } from '@plumbline/contract/encodings'
import iconv from 'iconv-lite'
import { incompleteTail } from './utf8.ts'

/** An encoding, its confidence, and the length of its byte order marks. */
export interface FoundEncoding {
  readonly encoding: Encoding
  readonly markBytes: number
  /** 0 to 1; 1 if the client or a byte order mark determines it. */
  readonly confidence: number
}

/** Invalid bytes that make lines and cells unrecognizable: half a UTF-16 character, or a NUL. */
export class DecodeFault extends Error {
  override readonly name = 'DecodeFault'
  /** Position in the unpacked file, byte order mark included. */
  readonly offsetBytes: number
  readonly encoding: Encoding
  readonly what: 'broken' | 'nul'

  constructor(encoding: Encoding, offsetBytes: number, what: 'broken' | 'nul' = 'broken') {
    super(`${what} ${encoding} at byte ${offsetBytes}`)
    this.what = what
    this.encoding = encoding
    this.offsetBytes = offsetBytes
  }
}

const UTF8_MARK = Buffer.from('efbbbf', 'hex')
const MARKS: readonly (readonly [Encoding, Buffer])[] = [
  ['utf-8', UTF8_MARK],
  ['utf-32le', Buffer.from('fffe0000', 'hex')],
  ['utf-32be', Buffer.from('0000feff', 'hex')],
  ['utf-16le', Buffer.from('fffe', 'hex')],
  ['utf-16be', Buffer.from('feff', 'hex')],
]

/**
 * The encoding that the first bytes determine: the requested one, else a byte order mark, else
 * UTF-16 by its zero bytes. Undefined if the whole text must be examined.
 */
export function encodingOfStart(
  sample: Buffer,
  asked: Encoding | undefined,
): FoundEncoding | undefined {
  const marked = MARKS.find(([, mark]) => sample.subarray(0, mark.length).equals(mark))
  if (asked !== undefined) {
    // `utf-16` names no byte order, and the mark of one is no character in the other.
    if (marked !== undefined && (marked[0] === asked || isOtherOrder(marked[0], asked))) {
      return { encoding: marked[0], markBytes: marksAt(sample, marked[1]), confidence: 1 }
    }
    return { encoding: asked, markBytes: 0, confidence: 1 }
  }
  // After a UTF-8 mark, the bytes that follow are examined first.
  if (marked !== undefined && marked[0] !== 'utf-8') {
    return { encoding: marked[0], markBytes: marksAt(sample, marked[1]), confidence: 1 }
  }
  const wide = findWide(sample)
  return wide === undefined ? undefined : { encoding: wide, markBytes: 0, confidence: 0.95 }
}

function isOtherOrder(one: Encoding, other: Encoding): boolean {
  return ['utf-16', 'utf-32'].some((form) => one.startsWith(form) && other.startsWith(form))
}

/** Length of the UTF-8 byte order marks at the start. */
export function utf8MarkBytes(start: Buffer): number {
  return marksAt(start, UTF8_MARK)
}

/**
 * Length of a byte order mark at the start, and of its repetitions: a program that adds one to a
 * text that has one makes the second a part of the first column's name.
 */
function marksAt(start: Buffer, mark: Buffer): number {
  let end = 0
  while (start.subarray(end, end + mark.length).equals(mark)) end += mark.length
  return end
}

/** Minimum share of zero bytes on one side of UTF-16 text, and maximum on the other. */
const WIDE_SHARE = 0.15
const WIDE_STRAY = 0.02

/**
 * ASCII in UTF-16 has a zero in every other byte, always on the same side; no other text has zeros.
 */
function findWide(sample: Buffer): Encoding | undefined {
  const pairs = Math.min(sample.length >> 1, 4096)
  if (pairs < 2) return undefined
  let even = 0
  let odd = 0
  for (let pair = 0; pair < pairs; pair++) {
    if (sample[2 * pair] === 0) even += 1
    if (sample[2 * pair + 1] === 0) odd += 1
  }
  if (odd > pairs * WIDE_SHARE && even <= pairs * WIDE_STRAY) return 'utf-16le'
  if (even > pairs * WIDE_SHARE && odd <= pairs * WIDE_STRAY) return 'utf-16be'
  return undefined
}

/** Decodes the chunks of a file; throws `DecodeFault`. */
export interface Decoder {
  decode(chunk: Buffer): string
  /** The remaining text; throws if the last UTF-16 character is incomplete. */
  end(): string
  /** Whether the file had bytes that are invalid in the encoding. */
  readonly hasBroken: boolean
}

/** Replaces invalid bytes in decoded text: an unpaired surrogate, which no valid text contains. */
const BROKEN = '\udcff'

/** Whether a decoded text contains invalid bytes; `toWellFormed` shows them as U+FFFD. */
export function isBroken(text: string): boolean {
  return !text.isWellFormed()
}

const NOTHING = Buffer.alloc(0)

/** A decoder for chunks cut at any byte, which skips the byte order mark. */
export function createDecoder({ encoding, markBytes }: FoundEncoding): Decoder {
  const decodePart = partDecoder(encoding)
  let offsetBytes = 0
  let rest: Buffer = NOTHING
  let hasBroken = false
  let left = markBytes

  function decode(chunk: Buffer, last: boolean): string {
    let bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    rest = NOTHING
    if (left > 0) {
      if (bytes.length < left && !last) {
        rest = Buffer.from(bytes)
        return ''
      }
      bytes = bytes.subarray(left)
      offsetBytes += left
      left = 0
    }
    if (bytes.length === 0 && !last) return ''
    const part = decodePart(bytes, last, offsetBytes)
    offsetBytes += bytes.length - part.rest.length
    rest = part.rest
    hasBroken ||= part.hasBroken
    return part.text
  }

  return {
    decode: (chunk) => decode(chunk, false),
    end: () => decode(NOTHING, true),
    get hasBroken() {
      return hasBroken
    },
  }
}

interface DecodedPart {
  readonly text: string
  /** Bytes that belong to the next chunk. */
  readonly rest: Buffer
  readonly hasBroken: boolean
}

type PartDecoder = (bytes: Buffer, last: boolean, offsetBytes: number) => DecodedPart

function partDecoder(encoding: Encoding): PartDecoder {
  switch (encoding) {
    case 'utf-8':
      return (bytes, last, offsetBytes) => {
        refuseNul(bytes, encoding, offsetBytes)
        return decodeUtf8(bytes, last)
      }
    case 'utf-16le':
    case 'utf-16be':
      return (bytes, last, offsetBytes) => decodeUtf16(bytes, last, encoding, offsetBytes)
    default:
      return legacyDecoder(encoding)
  }
}

function refuseNul(bytes: Buffer, encoding: Encoding, offsetBytes: number): void {
  const nul = bytes.indexOf(0)
  if (nul !== -1) throw new DecodeFault(encoding, offsetBytes + nul, 'nul')
}

function decodeUtf8(bytes: Buffer, last: boolean): DecodedPart {
  if (isAscii(bytes)) return { text: bytes.toString('latin1'), rest: NOTHING, hasBroken: false }
  const held = last ? 0 : incompleteTail(bytes)
  const whole = held === 0 ? bytes : bytes.subarray(0, bytes.length - held)
  const rest = Buffer.from(bytes.subarray(whole.length))
  if (isUtf8(whole)) return { text: whole.toString('utf8'), rest, hasBroken: false }
  return { text: decodeByLine(whole), rest, hasBroken: true }
}

/** Decodes line by line: lines that are not UTF-8 contain `BROKEN`, the others are unchanged. */
function decodeByLine(bytes: Buffer): string {
  const lines: string[] = []
  for (let at = 0; at < bytes.length;) {
    const feed = bytes.indexOf(10, at)
    const end = feed === -1 ? bytes.length : feed + 1
    const line = bytes.subarray(at, end)
    const text = line.toString('utf8')
    lines.push(isUtf8(line) ? text : text.replaceAll('\ufffd', BROKEN))
    at = end
  }
  return lines.join('')
}

function decodeUtf16(
  bytes: Buffer,
  last: boolean,
  encoding: 'utf-16le' | 'utf-16be',
  offsetBytes: number,
): DecodedPart {
  let end = bytes.length & ~1
  const high = encoding === 'utf-16le' ? bytes[end - 1] : bytes[end - 2]
  // The first half of a pair waits for the second.
  if (!last && end > 0 && high !== undefined && (high & 0xfc) === 0xd8) end -= 2
  if (last && end < bytes.length) throw new DecodeFault(encoding, offsetBytes + end)
  const whole = Buffer.from(bytes.subarray(0, end))
  const text = (encoding === 'utf-16be' ? whole.swap16() : whole).toString('utf16le')
  const nul = text.indexOf('\0')
  if (nul !== -1) throw new DecodeFault(encoding, offsetBytes + 2 * nul, 'nul')
  if (!text.isWellFormed()) {
    throw new DecodeFault(encoding, offsetBytes + 2 * text.toWellFormed().indexOf('\ufffd'))
  }
  return { text, rest: Buffer.from(bytes.subarray(end)), hasBroken: false }
}

function legacyDecoder(encoding: Encoding): PartDecoder {
  const stream = iconv.getDecoder(encoding, { stripBOM: false })
  const isWide = encoding === 'utf-32le' || encoding === 'utf-32be'
  return (bytes, last, offsetBytes) => {
    if (!isWide) refuseNul(bytes, encoding, offsetBytes)
    if (isAscii(bytes) && encoding === 'windows-1252') {
      return { text: bytes.toString('latin1'), rest: NOTHING, hasBroken: false }
    }
    let text = stream.write(bytes) + (last ? (stream.end() ?? '') : '')
    const nul = isWide ? text.indexOf('\0') : -1
    if (nul !== -1) throw new DecodeFault(encoding, offsetBytes + 4 * nul, 'nul')
    if (encoding === 'windows-1252') text = withControls(text, bytes)
    const hasBroken = text.includes('\ufffd')
    return { text: hasBroken ? text.replaceAll('\ufffd', BROKEN) : text, rest: NOTHING, hasBroken }
  }
}

/**
 * The five bytes that Windows-1252 leaves undefined become control characters. Source: WHATWG
 * Encoding, index windows-1252.
 */
function withControls(text: string, bytes: Buffer): string {
  if (!text.includes('\ufffd')) return text
  return text.replaceAll('\ufffd', (_, at: number) => String.fromCharCode(bytes[at] ?? 0xfffd))
}
