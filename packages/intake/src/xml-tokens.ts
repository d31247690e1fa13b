import { isAscii } from 'node:buffer'
import {
  createAttributes,
  endOfName,
  INCOMPLETE,
  matchesAt,
  type TagAttributes,
  type XmlAttributes,
} from './xml-attributes.ts'
import { charsOfEntities } from './xml-entities.ts'

/** Events of a document; names are without prefix. */
export interface XmlHandler {
  open(name: string, attributes: XmlAttributes): void
  close(name: string): void
  /** A run of text may arrive in several calls. */
  text(text: string): void
  doctype(): void
  /** Called for invalid XML; must throw. */
  fault(what: string): never
}

/** Tokenizes an XML document in UTF-8, piece by piece. */
export interface XmlTokenizer {
  push(piece: Buffer): void
  end(): void
  /** Bytes of the incomplete tag, comment or other construct. */
  readonly openBytes: number
}

const RETURN = 13
const BANG = 33
const SLASH = 47
const BLANK = 32
const QUESTION = 63

/**
 * Characters that XML 1.0 forbids (section 2.2), one character for each byte; the last two
 * alternatives are U+FFFE and U+FFFF.
 */
// oxlint-disable-next-line no-control-regex -- these are what is looked for
const FORBIDDEN = /[\0-\x08\x0b\x0c\x0e-\x1f]|\xef\xbf[\xbe\xbf]/

const BYTE_ORDER_MARK = Buffer.from('\ufeff')
const NOTHING = Buffer.alloc(0)

/** State of the tokenizer. */
interface Scan {
  readonly handler: XmlHandler
  readonly attributes: TagAttributes
  /** The name at a position of a text. */
  readonly nameAt: (text: string, from: number, to: number) => Name
  /** Open elements. */
  readonly open: Name[]
  hasRoot: boolean
  /** Whether the current text is ASCII, so that a byte is a character. */
  isPlain: boolean
}

/**
 * A tokenizer for well-formed documents without document type. It is lenient where nothing can be
 * misread: `]]>` in a text, `--` in a comment, a duplicate attribute. It works on strings of one
 * character per byte, which are created and searched several times faster than others; non-ASCII
 * text is decoded when it is passed on. Source: W3C, Extensible Markup Language (XML) 1.0 (Fifth
 * Edition).
 */
export function createXmlTokenizer(handler: XmlHandler): XmlTokenizer {
  let rest: Buffer = NOTHING
  let isStart = true
  const scan: Scan = {
    handler,
    attributes: createAttributes((bytes) => decode(scan, bytes), handler.fault),
    nameAt: createNames(handler),
    open: [],
    hasRoot: false,
    isPlain: true,
  }
  return {
    push: (piece) => {
      let bytes = rest.length === 0 ? piece : Buffer.concat([rest, piece])
      if (isStart && bytes.length >= BYTE_ORDER_MARK.length) {
        if (bytes.indexOf(BYTE_ORDER_MARK) === 0) bytes = bytes.subarray(BYTE_ORDER_MARK.length)
        isStart = false
      }
      // A line end of two characters may be split.
      const held = bytes.at(-1) === RETURN ? 1 : 0
      if (bytes.includes(RETURN)) bytes = withoutReturns(bytes, held)
      scan.isPlain = isAscii(bytes)
      const text = bytes.toString('latin1', 0, bytes.length - held)
      if (FORBIDDEN.test(text)) handler.fault('a character that XML has not')
      rest = bytes.subarray(read(scan, text))
    },
    end: () => {
      const isWhole = scan.open.length === 0 && scan.hasRoot
      if (!isWhole || rest.toString().trim() !== '') handler.fault('no end')
    },
    get openBytes() {
      return rest.length
    },
  }
}

/** Reads what is complete; returns where the rest begins. */
function read(scan: Scan, text: string): number {
  let at = 0
  for (;;) {
    const markup = text.indexOf('<', at)
    if (markup === -1) {
      const end = endOfText(text, at)
      giveText(scan, text, at, end)
      return end
    }
    giveText(scan, text, at, markup)
    const after = readMarkup(scan, text, markup + 1)
    if (after === INCOMPLETE) return markup
    at = after
  }
}

function giveText(scan: Scan, text: string, from: number, to: number): void {
  if (from === to) return
  const { handler } = scan
  const piece = text.slice(from, to)
  if (scan.open.length > 0) handler.text(charsOfEntities(decode(scan, piece), handler.fault))
  else if (piece.trim() !== '') handler.fault('a text outside of the root')
}

function readMarkup(scan: Scan, text: string, at: number): number {
  switch (text.charCodeAt(at)) {
    case SLASH:
      return readCloseTag(scan, text, at + 1)
    case BANG:
    case QUESTION:
      return readOther(scan, text, at)
    default:
      return readOpenTag(scan, text, at)
  }
}

function readOpenTag(scan: Scan, text: string, from: number): number {
  const { handler, attributes, open } = scan
  const nameEnd = endOfName(text, from)
  const after = attributes.scan(text, nameEnd)
  if (after === INCOMPLETE) return INCOMPLETE
  const name = scan.nameAt(text, from, nameEnd)
  if (open.length === 0 && scan.hasRoot) handler.fault('a second root')
  scan.hasRoot = true
  handler.open(name.local, attributes)
  if (attributes.isEmptyTag) handler.close(name.local)
  else open.push(name)
  return after
}

function readCloseTag({ handler, open }: Scan, text: string, from: number): number {
  const name = open.at(-1)
  const end = text.indexOf('>', from)
  if (end === -1) return INCOMPLETE
  let nameEnd = end
  while (text.charCodeAt(nameEnd - 1) <= BLANK) nameEnd--
  if (name === undefined || !matchesAt(text, from, nameEnd, name.bytes)) {
    return handler.fault('a tag that closes another')
  }
  open.pop()
  handler.close(name.local)
  return end + 1
}

/** Comments, processing instructions, CDATA; a document type is refused as soon as it begins. */
function readOther(scan: Scan, text: string, from: number): number {
  const { handler } = scan
  if (text.charCodeAt(from) === QUESTION) return behind(text, '?>', from + 1)
  if (text.startsWith('!--', from)) return behind(text, '-->', from + 3)
  if (text.startsWith('![CDATA[', from)) {
    const after = behind(text, ']]>', from + 8)
    if (after === INCOMPLETE) return INCOMPLETE
    if (scan.open.length === 0) handler.fault('a text outside of the root')
    handler.text(decode(scan, text.slice(from + 8, after - 3)))
    return after
  }
  if (text.startsWith('!DOCTYPE', from)) handler.doctype()
  const begun = text.slice(from, from + 8)
  const mayBe = ['!--', '![CDATA[', '!DOCTYPE'].some((each) => each.startsWith(begun))
  return mayBe ? INCOMPLETE : handler.fault('markup that is none')
}

function behind(text: string, mark: string, from: number): number {
  const at = text.indexOf(mark, from)
  return at === -1 ? INCOMPLETE : at + mark.length
}

/**
 * End of the complete text: a reference, or a character of several bytes, may continue in the next
 * piece.
 */
function endOfText(text: string, from: number): number {
  const reference = text.lastIndexOf('&')
  let end = reference < from || text.indexOf(';', reference) !== -1 ? text.length : reference
  // Continuation bytes are 80 to BF, lead bytes are above.
  const least = Math.max(from, end - 3)
  for (let at = end - 1; at >= least; at--) {
    const code = text.charCodeAt(at)
    if (code < 0x80) break
    if (code >= 0xc0) {
      end = at
      break
    }
  }
  return end
}

/** Normalizes line ends (section 2.11). The last `held` bytes stay. */
function withoutReturns(bytes: Buffer, held: number): Buffer {
  const text = bytes.toString('latin1', 0, bytes.length - held).replaceAll(/\r\n?/g, '\n')
  return Buffer.from(text + '\r'.repeat(held), 'latin1')
}

function decode({ isPlain }: Scan, bytes: string): string {
  return isPlain || !/[\x80-\xff]/.test(bytes) ? bytes : Buffer.from(bytes, 'latin1').toString()
}

/** A name as its bytes, and without its prefix. */
interface Name {
  readonly bytes: string
  readonly local: string
}

/** Names that are cached; documents have few, and further ones are checked each time. */
const MOST_NAMES = 1_000
const NAME = /^[\p{L}\p{Nl}_:][\p{L}\p{N}\p{M}_:.·-]*$/u

/**
 * Cache of checked names. Most tags of a workbook have a one-letter name, which needs no string.
 */
function createNames(handler: XmlHandler): Scan['nameAt'] {
  const known = new Map<string, Name>()
  const letters: (Name | undefined)[] = Array.from({ length: 256 })
  return (text, from, to) => {
    if (to - from !== 1) return nameOf(text.slice(from, to))
    const code = text.charCodeAt(from)
    return (letters[code] ??= nameOf(text.slice(from, to)))
  }

  function nameOf(bytes: string): Name {
    const kept = known.get(bytes)
    if (kept !== undefined) return kept
    const copy = Buffer.from(bytes, 'latin1')
    const text = copy.toString()
    if (!NAME.test(text)) handler.fault('a name that is none')
    // Copies: a slice would keep the whole piece that it was cut from.
    const name = { bytes: copy.toString('latin1'), local: text.slice(text.indexOf(':') + 1) }
    if (known.size < MOST_NAMES) known.set(name.bytes, name)
    return name
  }
}
