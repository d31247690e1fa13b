/** One complete reply of a server. */
export interface Reply {
  readonly code: number
  /** Enhanced status code of its first line that has one, `5.1.1`; null if there is none. */
  readonly enhanced: string | null
  /** The texts of its lines without codes, joined by a space. */
  readonly text: string
  /** Texts line by line, as EHLO needs them. */
  readonly lines: readonly string[]
}

/** Why bytes are not a reply. */
export type ReplyFault = 'malformed' | 'too_long'

/** Parses replies from received bytes. */
export interface ReplyReader {
  /** The replies that the bytes complete, in order; after a fault nothing more is parsed. */
  push(chunk: Buffer): { readonly replies: readonly Reply[]; readonly fault: ReplyFault | null }
  /** Whether a part of a reply has been received that is not complete yet. */
  readonly isPending: boolean
}

/**
 * Limits: octets of a line, octets of a reply, lines of a reply. RFC 5321 4.5.3.1.5 allows 512
 * octets a line; real servers send more, none sends kilobytes.
 */
export const LINE_MAX_BYTES = 2048
const REPLY_MAX_BYTES = 65_536
const REPLY_MAX_LINES = 256

const LF = 0x0a
const CR = 0x0d
const SPACE = 0x20
const HYPHEN = 0x2d

/** Makes a reader for one connection; lines may end in CRLF or a bare LF. */
export function createReplyReader(): ReplyReader {
  let held: Buffer | null = null
  let lines: string[] = []
  let code = 0
  let replyBytes = 0
  let fault: ReplyFault | null = null

  const readLine = (bytes: Buffer, start: number, end: number): Reply | null => {
    const last = end > start && bytes[end - 1] === CR ? end - 1 : end
    const lineCode = codeAt(bytes, start, last)
    const separator = bytes[start + 3]
    const isLast = last - start === 3 || separator === SPACE
    const known = isLast || separator === HYPHEN
    if (lineCode === 0 || !known || (lines.length > 0 && lineCode !== code)) {
      fault = 'malformed'
      return null
    }
    code = lineCode
    replyBytes += end - start
    lines.push(bytes.toString('utf8', Math.min(start + 4, last), last))
    if (replyBytes > REPLY_MAX_BYTES || lines.length > REPLY_MAX_LINES) fault = 'too_long'
    if (!isLast || fault !== null) return null
    const reply = replyOf(code, lines)
    lines = []
    replyBytes = 0
    return reply
  }

  return {
    push(chunk) {
      const replies: Reply[] = []
      if (fault !== null) return { replies, fault }
      const bytes = held === null ? chunk : Buffer.concat([held, chunk])
      let start = 0
      for (;;) {
        const end = bytes.indexOf(LF, start)
        if (end < 0 || end - start > LINE_MAX_BYTES) {
          if ((end < 0 ? bytes.length : end) - start > LINE_MAX_BYTES) fault ??= 'too_long'
          break
        }
        const reply = readLine(bytes, start, end)
        start = end + 1
        if (reply !== null) replies.push(reply)
        if (fault !== null) break
      }
      held = fault !== null || start === bytes.length ? null : Buffer.from(bytes.subarray(start))
      return { replies, fault }
    },
    get isPending() {
      return held !== null || lines.length > 0
    },
  }
}

/** The code of a line, 200 to 599; 0 if it begins with none. */
function codeAt(bytes: Buffer, start: number, end: number): number {
  if (end - start < 3) return 0
  const hundreds = (bytes[start] ?? 0) - 0x30
  const tens = (bytes[start + 1] ?? 0) - 0x30
  const ones = (bytes[start + 2] ?? 0) - 0x30
  if (hundreds < 2 || hundreds > 5 || tens < 0 || tens > 9 || ones < 0 || ones > 9) return 0
  return hundreds * 100 + tens * 10 + ones
}

function replyOf(code: number, lines: readonly string[]): Reply {
  let enhanced: string | null = null
  const texts: string[] = []
  for (const line of lines) {
    const match = ENHANCED.exec(line)
    if (match === null || Number(line[0]) !== Math.floor(code / 100)) {
      texts.push(line)
      continue
    }
    enhanced ??= match[1] ?? null
    texts.push(line.slice(match[0].length))
  }
  return { code, enhanced, text: texts.length === 1 ? (texts[0] ?? '') : texts.join(' '), lines }
}

/** Source: RFC 2034 4; up to three digits a part by RFC 3463 2. */
const ENHANCED = /^([245]\.\d{1,3}\.\d{1,3})(?: |$)/
