import { isAscii, isUtf8 } from 'node:buffer'
import iconv from 'iconv-lite'

/** The encodings that are read. */
export type Encoding = 'utf-8' | 'utf-16le' | 'utf-16be' | 'windows-1252'

/** An encoding, and how many bytes its mark takes at the start. */
export interface FoundEncoding {
  readonly encoding: Encoding
  readonly markBytes: number
}

/** Bytes that the encoding does not have, or a NUL, which no text file has. */
export class DecodeFault extends Error {
  override readonly name = 'DecodeFault'
  /** Bytes of the unpacked file before the fault, byte order mark included. */
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

/**
 * The encoding of a text by its first bytes: a mark decides, then UTF-8 where it holds, then UTF-16 by
 * its zero bytes, else Windows-1252. `cut` says that the sample ends before the file does.
 */
export function findEncoding(sample: Buffer, cut: boolean): FoundEncoding {
  if (sample[0] === 0xef && sample[1] === 0xbb && sample[2] === 0xbf) {
    return { encoding: 'utf-8', markBytes: 3 }
  }
  if (sample[0] === 0xff && sample[1] === 0xfe) return { encoding: 'utf-16le', markBytes: 2 }
  if (sample[0] === 0xfe && sample[1] === 0xff) return { encoding: 'utf-16be', markBytes: 2 }
  const wide = findWide(sample)
  if (wide !== undefined) return { encoding: wide, markBytes: 0 }
  const whole = cut ? sample.subarray(0, sample.length - incompleteTail(sample)) : sample
  const encoding = isUtf8(whole) || looksLikeBrokenUtf8(whole) ? 'utf-8' : 'windows-1252'
  return { encoding, markBytes: 0 }
}

/** Latin text in UTF-16 has a zero in every other byte, always on the same side. */
function findWide(sample: Buffer): Encoding | undefined {
  const pairs = Math.min(sample.length >> 1, 2048)
  if (pairs < 2) return undefined
  let even = 0
  let odd = 0
  for (let pair = 0; pair < pairs; pair++) {
    if (sample[2 * pair] === 0) even += 1
    if (sample[2 * pair + 1] === 0) odd += 1
  }
  if (odd > pairs * 0.6 && even < pairs * 0.05) return 'utf-16le'
  if (even > pairs * 0.6 && odd < pairs * 0.05) return 'utf-16be'
  return undefined
}

/** UTF-8 with a few broken bytes has far more whole sequences than broken ones; Windows-1252 has hardly any. */
function looksLikeBrokenUtf8(bytes: Buffer): boolean {
  let whole = 0
  let broken = 0
  for (let at = 0; at < bytes.length;) {
    const byte = bytes[at] ?? 0
    if (byte < 0x80) {
      at += 1
      continue
    }
    const length = sequenceLength(byte)
    if (length > 1 && at + length <= bytes.length && isUtf8(bytes.subarray(at, at + length))) {
      whole += 1
      at += length
    } else {
      broken += 1
      at += 1
    }
  }
  return whole > 3 * broken
}

function sequenceLength(lead: number): number {
  if (lead >= 0xc2 && lead < 0xe0) return 2
  if (lead >= 0xe0 && lead < 0xf0) return 3
  return lead >= 0xf0 && lead < 0xf5 ? 4 : 1
}

/** How many bytes at the end begin a UTF-8 sequence that goes on after it: 0 to 3. */
function incompleteTail(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0
    if (byte >= 0xc0) return sequenceLength(byte) > back ? back : 0
    if (byte < 0x80) return 0
  }
  return 0
}

/** Turns the chunks of a file into text; throws `DecodeFault`. */
export interface Decoder {
  decode(chunk: Buffer): string
  /** The rest; throws when the last character is not whole. */
  end(): string
  /** What the text turned out to be in. */
  readonly encoding: Encoding
}

const NOTHING = Buffer.alloc(0)

/** A decoder for chunks cut at any byte, that skips the byte order mark. */
export function createDecoder(found: FoundEncoding): Decoder {
  let { encoding } = found
  let markBytes = found.markBytes
  let offsetBytes = 0
  let rest: Buffer = NOTHING
  let onlyAscii = true

  function decodeUtf8(bytes: Buffer, last: boolean): string {
    if (isAscii(bytes)) return bytes.toString('latin1')
    const held = last ? 0 : incompleteTail(bytes)
    const whole = held === 0 ? bytes : bytes.subarray(0, bytes.length - held)
    if (!isUtf8(whole)) {
      // Until here the two encodings gave the same text.
      if (onlyAscii && found.markBytes === 0 && !looksLikeBrokenUtf8(whole)) {
        encoding = 'windows-1252'
        return iconv.decode(bytes, encoding)
      }
      throw new DecodeFault(encoding, offsetBytes + validPrefix(whole))
    }
    onlyAscii = false
    rest = Buffer.from(bytes.subarray(whole.length))
    return whole.toString('utf8')
  }

  function decode(chunk: Buffer, last: boolean): string {
    let bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    rest = NOTHING
    if (markBytes > 0) {
      if (bytes.length < markBytes && !last) {
        rest = Buffer.from(bytes)
        return ''
      }
      bytes = bytes.subarray(markBytes)
      offsetBytes += markBytes
      markBytes = 0
    }
    if (bytes.length === 0) return ''
    if (encoding === 'utf-8' || encoding === 'windows-1252') {
      const nul = bytes.indexOf(0)
      if (nul !== -1) throw new DecodeFault(encoding, offsetBytes + nul, 'nul')
    }
    let text: string
    switch (encoding) {
      case 'utf-8':
        text = decodeUtf8(bytes, last)
        break
      case 'utf-16le':
      case 'utf-16be':
        ;({ text, rest } = decodeUtf16(bytes, last, encoding, offsetBytes))
        break
      case 'windows-1252':
        text = isAscii(bytes) ? bytes.toString('latin1') : iconv.decode(bytes, encoding)
    }
    offsetBytes += bytes.length - rest.length
    return text
  }

  return {
    decode: (chunk) => decode(chunk, false),
    end: () => decode(NOTHING, true),
    get encoding() {
      return encoding
    },
  }
}

function decodeUtf16(
  bytes: Buffer,
  last: boolean,
  encoding: 'utf-16le' | 'utf-16be',
  offsetBytes: number,
): { text: string; rest: Buffer } {
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
  return { text, rest: Buffer.from(bytes.subarray(end)) }
}

/** How many bytes from the start are valid UTF-8. */
function validPrefix(bytes: Buffer): number {
  let low = 0
  let high = bytes.length
  while (low < high) {
    const middle = (low + high + 1) >> 1
    const start = bytes.subarray(0, middle)
    if (isUtf8(start.subarray(0, middle - incompleteTail(start)))) low = middle
    else high = middle - 1
  }
  return low
}
