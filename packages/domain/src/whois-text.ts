/** A key and its value from a reply, with the heading above. */
export interface WhoisEntry {
  /** In the form of `keyForm`. */
  readonly key: string
  readonly value: string
  /** The heading above, in the form of a key; empty if there is none. */
  readonly section: string
  /** Number of its paragraph in the reply. */
  readonly block: number
}

/** A parsed reply. */
export interface WhoisText {
  readonly entries: readonly WhoisEntry[]
  /** Every line without comment signs; blank lines and legal text are left out. */
  readonly lines: readonly string[]
}

/**
 * Lines and characters of a reply that are parsed: the patterns take a second for 256 kilobytes that
 * were made to occupy us. Replies are a few kilobytes; the rest is legal text.
 */
const MAX_LINES = 2_000
const MAX_CHARACTERS = 65_536
const MAX_LINE_LENGTH = 1_000

const COMMENT = /^\s*(?:[%#;]+|-{2,}(?=\s|$))/
/**
 * The lookbehind anchors the trailing part at the start of a run, so that a long run inside a line
 * is not tried at each position.
 */
const DECORATION = /^[\s%#*;>-]+|(?<![\s<])[\s<]+$/g
const BRACKETS = /^\s*(?:[a-z0-9]{1,2}(?:\s*\.)?\s*)?\[([^\]\n]{1,80})\]\s*(.*)$/i
const COLON = /^\s*(?:\*\*\s*)?([\p{L}\p{N}][^:：]{0,80}?)[.\s]*[:：](?!\/\/)\s*(.*)$/u
const COLUMNS =
  /^\s*(\p{L}[\p{L}\p{N}'./-]*(?: [\p{L}\p{N}'./()-]+){0,4}(?<![.,;]))(?:\t+| {2,}|\.{3,} *)(\S.*)$/u
/** `1a.        Domain Name : ...` (gov.za). */
const NUMBERING = /^\s*\d{1,2}[a-z]?\.\s+/
/** `Registrar:..........ELB` (ATI). */
const LEADERS = /^\.{3,}/
/** `Registrar#. . . . . . cerist` (NIC.dz). */
const SPACED_LEADERS = /#?\.?(?: \.){4,}\s*/

/**
 * Splits a reply into keys and values, in any layout: `Key: value`, `Key......: value`, `[Key]
 * value`, columns, and a heading with its value or keys on the lines below.
 */
export function readWhoisText(text: string): WhoisText {
  const raw = unescapeMarkup(text.slice(0, MAX_CHARACTERS))
    .split(/\r\n|\n|\r/)
    .slice(0, MAX_LINES)
    .map((line) => line.slice(0, MAX_LINE_LENGTH).replaceAll('\u00a0', ' '))
  return {
    entries: readEntries(raw),
    lines: statements(raw),
  }
}

/**
 * A paragraph with at least this many lines of this mean length is legal text, as is one very long
 * line.
 */
const PROSE = { lines: 4, meanLength: 45, lineLength: 300 } as const

function isShort(line: string): boolean {
  return line.length < PROSE.meanLength * 1.5
}

const SHORT_KEY = /^[\p{L}\p{N} _-]{1,30}:\s/u

function statements(raw: readonly string[]): string[] {
  const kept: string[] = []
  let paragraph: string[] = []
  const close = (): void => {
    const length = paragraph.reduce((sum, line) => sum + line.length, 0)
    const pairs = paragraph.filter((line) => SHORT_KEY.test(line)).length
    const prose =
      paragraph.length >= PROSE.lines &&
      length / paragraph.length > PROSE.meanLength &&
      pairs < paragraph.length / 2
    const whole = paragraph.filter((line, at) => !goesOn(paragraph[at - 1] ?? '', line))
    if (!prose) kept.push(...whole.filter((line) => line.length < PROSE.lineLength))
    // A paragraph of prose may open or close with the answer itself.
    else kept.push(...[whole[0] ?? '', whole.at(-1) ?? ''].filter(isShort))
    paragraph = []
  }
  for (const line of raw) {
    const text = line.replace(DECORATION, '').trim()
    if (text === '') close()
    else paragraph.push(text)
  }
  close()
  return kept
}

// The end of a sentence that began a line before says nothing by itself: "... or you will
// be\nblacklisted."
function goesOn(before: string, line: string): boolean {
  const lastWord = before.slice(before.lastIndexOf(' ') + 1)
  const ended = /[.!?:;>]$/.test(before) || /https?:\S/.test(lastWord)
  const open = before.length >= PROSE.meanLength && !ended
  return open && /^[a-z(]/.test(line) && !SHORT_KEY.test(line)
}

/** The form in which keys are compared: lower case, without accents, only words. */
function keyForm(text: string): string {
  return text
    .toLowerCase()
    .normalize('NFD')
    .replace(/[\u0300-\u036f]/g, '')
    .normalize('NFC')
    .replaceAll('ı', 'i')
    .replaceAll('đ', 'd')
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
}

interface Heading {
  readonly key: string
  readonly indent: number
  /** Values that the heading has had so far. */
  values: number
  afterBlank: boolean
}

function readEntries(raw: readonly string[]): WhoisEntry[] {
  const entries: WhoisEntry[] = []
  let heading: Heading | null = null
  let block = 0
  for (const line of raw) {
    if (line.trim() === '') {
      block++
      if (heading !== null) heading.afterBlank = true
      continue
    }
    if (COMMENT.test(line)) {
      heading = commentHeading(line) ?? heading
      continue
    }
    const indent = indentOf(line)
    if (heading !== null && heading.afterBlank && indent <= heading.indent && heading.values > 0) {
      heading = null
    }
    const pair = pairOf(line)
    if (pair === null) {
      heading = bareLine(line, indent, heading, entries, block)
    } else if (pair.value === '') {
      // A key of a section that is left empty does not end the section.
      const empty: boolean = heading !== null && indent > heading.indent && heading.values > 0
      if (!empty) heading = { key: pair.key, indent, values: 0, afterBlank: false }
    } else {
      if (heading !== null && indent < heading.indent) heading = null
      if (heading !== null) heading.values++
      entries.push({ ...pair, section: heading?.key ?? '', block })
    }
  }
  return entries
}

function bareLine(
  line: string,
  indent: number,
  heading: Heading | null,
  entries: WhoisEntry[],
  block: number,
): Heading | null {
  const value = line.replace(DECORATION, '').trim()
  if (heading !== null && heading.values === 0 && indent >= heading.indent) {
    entries.push({ key: heading.key, value, section: '', block })
    heading.values++
    return heading
  }
  if (heading !== null && indent > heading.indent) return heading
  const key = keyForm(value)
  if (key.split(' ').length > 4) return heading
  return { key, indent, values: 0, afterBlank: false }
}

function pairOf(line: string): { key: string; value: string } | null {
  const bare = line.replace(NUMBERING, '').replace(SPACED_LEADERS, ' : ')
  const match = BRACKETS.exec(bare) ?? COLON.exec(bare) ?? COLUMNS.exec(bare)
  if (match === null) return null
  const [, keyText = '', value = ''] = match
  const key = keyForm(keyText)
  // A sentence with a colon somewhere is not a key.
  if (key === '' || key.split(' ').length > 9) return null
  return { key, value: value.replace(LEADERS, '').trim() }
}

function commentHeading(line: string): Heading | null {
  const match = /^[%#]+\s*([A-Z][a-z]+(?: [A-Za-z]+)?):\s*$/.exec(line)
  if (match?.[1] === undefined) return null
  return { key: keyForm(match[1]), indent: 0, values: 0, afterBlank: false }
}

function indentOf(line: string): number {
  let indent = 0
  for (const character of line) {
    if (character === '\t') indent += 8
    else if (character === ' ') indent++
    else break
  }
  return indent
}

function unescapeMarkup(text: string): string {
  if (!text.includes('&')) return text
  return text
    .replaceAll('&gt;', '>')
    .replaceAll('&lt;', '<')
    .replaceAll('&quot;', '"')
    .replaceAll('&amp;', '&')
}
