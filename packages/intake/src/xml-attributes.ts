import { charsOfEntities } from './xml-entities.ts'

/** The attributes of the current tag; invalid once the next tag is read. */
export interface XmlAttributes {
  /** The value of a name with its prefix; of duplicates the first. */
  get(name: string): string | undefined
  /** The value of a name with any prefix, which the writer may choose (`r:id`). */
  getLocal(name: string): string | undefined
  /** All attributes, by name with prefix. */
  toRecord(): Readonly<Record<string, string>>
}

/** Parses the attributes of one tag after the other. */
export interface TagAttributes extends XmlAttributes {
  /**
   * Parses what follows a tag's name, one character per byte.
   *
   * @returns the position after the tag, or `INCOMPLETE`
   */
  scan(text: string, from: number): number
  /** Whether the tag is self-closing. */
  readonly isEmptyTag: boolean
}

/** Returned by a scan that reached the end of the available text. */
export const INCOMPLETE = -1

const TAB = 9
const LINE_FEED = 10
const BLANK = 32
const QUOTE = 34
const AMPERSAND = 38
const APOSTROPHE = 39
const SLASH = 47
const LESS = 60
const EQUALS = 61
const GREATER = 62

/**
 * Numbers stored per attribute: start and end of name and value, and whether it needs no decoding.
 */
const FIELDS = 5

/** State of the parser. */
interface Scan {
  readonly decode: (bytes: string) => string
  readonly fault: (what: string) => never
  text: string
  isEmptyTag: boolean
  /** Number of entries of `places` that belong to this tag. */
  filled: number
  readonly places: number[]
}

/**
 * Most attributes are never read: they are stored as positions, and extracted on demand.
 *
 * @param decode decodes a text of one character per byte
 * @param fault called, and must throw, for invalid XML
 */
export function createAttributes(
  decode: (bytes: string) => string,
  fault: (what: string) => never,
): TagAttributes {
  const scan: Scan = { decode, fault, text: '', isEmptyTag: false, filled: 0, places: [] }
  return {
    get isEmptyTag() {
      return scan.isEmptyTag
    },
    scan: (text, from) => {
      scan.text = text
      scan.filled = 0
      scan.isEmptyTag = false
      return scanTag(scan, text, from)
    },
    get: (name) => {
      const { text, filled, places } = scan
      for (let place = 0; place < filled; place += FIELDS) {
        const from = places[place] ?? 0
        if (matchesAt(text, from, places[place + 1] ?? 0, name)) return valueAt(scan, place)
      }
      return undefined
    },
    getLocal: (name) => {
      const { text, filled, places } = scan
      for (let place = 0; place < filled; place += FIELDS) {
        const from = places[place] ?? 0
        const start = (places[place + 1] ?? 0) - name.length
        const isWhole = start === from || (start > from && text[start - 1] === ':')
        if (isWhole && text.startsWith(name, start)) return valueAt(scan, place)
      }
      return undefined
    },
    toRecord: () => {
      const { text, filled, places } = scan
      const record: Record<string, string> = {}
      for (let place = 0; place < filled; place += FIELDS) {
        record[decode(text.slice(places[place], places[place + 1]))] ??= valueAt(scan, place)
      }
      return record
    },
  }
}

function scanTag(scan: Scan, text: string, from: number): number {
  let at = from
  for (;;) {
    const before = at
    while (text.charCodeAt(at) <= BLANK) at++
    const code = text.charCodeAt(at)
    if (code === GREATER) return at + 1
    if (at >= text.length) return INCOMPLETE
    if (code === SLASH) {
      scan.isEmptyTag = true
      if (at + 1 >= text.length) return INCOMPLETE
      return text.charCodeAt(at + 1) === GREATER ? at + 2 : scan.fault('a stray slash')
    }
    if (at === before) scan.fault('no blank before an attribute')
    at = scanAttribute(scan, text, at)
    if (at === INCOMPLETE) return INCOMPLETE
  }
}

function scanAttribute(scan: Scan, text: string, from: number): number {
  const nameEnd = endOfName(text, from)
  let at = nameEnd
  while (text.charCodeAt(at) <= BLANK) at++
  if (at >= text.length) return INCOMPLETE
  if (nameEnd === from || text.charCodeAt(at) !== EQUALS) scan.fault('no attribute')
  scan.places[scan.filled++] = from
  scan.places[scan.filled++] = nameEnd
  return scanValue(scan, text, at + 1)
}

function scanValue(scan: Scan, text: string, from: number): number {
  let at = from
  while (text.charCodeAt(at) <= BLANK) at++
  const quote = text.charCodeAt(at)
  if (quote !== QUOTE && quote !== APOSTROPHE) {
    return at >= text.length ? INCOMPLETE : scan.fault('a value without quotes')
  }
  const start = ++at
  let isPlain = 1
  for (let code = text.charCodeAt(at); code !== quote; code = text.charCodeAt(++at)) {
    if (at >= text.length) return INCOMPLETE
    if (code === LESS) scan.fault('a tag in a value')
    if (code === AMPERSAND || code === TAB || code === LINE_FEED) isPlain = 0
  }
  scan.places[scan.filled++] = start
  scan.places[scan.filled++] = at
  scan.places[scan.filled++] = isPlain
  return at + 1
}

function valueAt({ text, places, decode, fault }: Scan, place: number): string {
  const value = decode(text.slice(places[place + 2], places[place + 3]))
  if (places[place + 4] === 1) return value
  return charsOfEntities(value.replaceAll(/[\t\n]/g, ' '), fault)
}

/**
 * Whether the text between two positions equals a name; fast for names of one letter, as most are.
 */
export function matchesAt(text: string, from: number, to: number, name: string): boolean {
  if (to - from !== name.length) return false
  return name.length === 1
    ? text.charCodeAt(from) === name.charCodeAt(0)
    : text.startsWith(name, from)
}

/** End of the name that begins at a position, or of the text. */
export function endOfName(text: string, from: number): number {
  let at = from
  for (;;) {
    const code = text.charCodeAt(at)
    // Not "at most a blank": beyond the end the code is NaN.
    if (!(code > BLANK) || code === GREATER || code === SLASH || code === EQUALS) return at
    at++
  }
}
