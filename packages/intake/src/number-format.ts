/** Display of numbers by a cell style. */
export type NumberStyle =
  | { readonly kind: 'number' }
  /** A boolean: any number but 0 is true. */
  | { readonly kind: 'boolean' }
  | { readonly kind: 'date' | 'datetime' | 'time' | 'elapsed' }
  /** Digits in a pattern: leading zeros, blanks and punctuation of a phone number. */
  | {
      readonly kind: 'digits'
      readonly pattern: Pattern
      /** The pattern of numbers that do not fit the condition of the first one. */
      readonly other?: { readonly isOf: (value: number) => boolean; readonly pattern: Pattern }
    }

/** Digits and signs from left to right. */
type Pattern = readonly PatternPart[]

/** A digit, with what is shown if the number has none there; or a literal character. */
type PatternPart =
  | { readonly digit: '0' | ''; readonly sign?: undefined }
  | { readonly digit?: undefined; readonly sign: string }

const NUMBER: NumberStyle = { kind: 'number' }

/**
 * Built-in formats of dates and times, which have a number but no code. Source: ECMA-376, part 1,
 * section 18.8.30.
 */
const BUILT_IN: ReadonlyMap<number, NumberStyle> = new Map([
  ...numbers(14, 17, { kind: 'date' }),
  ...numbers(18, 21, { kind: 'time' }),
  ...numbers(22, 22, { kind: 'datetime' }),
  ...numbers(27, 31, { kind: 'date' }),
  ...numbers(32, 35, { kind: 'time' }),
  ...numbers(36, 36, { kind: 'date' }),
  ...numbers(45, 45, { kind: 'time' }),
  ...numbers(46, 46, { kind: 'elapsed' }),
  ...numbers(47, 47, { kind: 'time' }),
  ...numbers(50, 58, { kind: 'date' }),
])

function numbers(first: number, last: number, style: NumberStyle): [number, NumberStyle][] {
  return Array.from({ length: last - first + 1 }, (_, at) => [first + at, style])
}

/**
 * Two words, one of them for all numbers but zero: LibreOffice's format of booleans, in any
 * language.
 */
const BOOLEAN = /^("[^"]+");\1;"[^"]+"$/

/** The style of a number format, by its code, or by its number if it is built in. */
export function numberStyle(id: number, code: string | undefined): NumberStyle {
  if (code === undefined) return BUILT_IN.get(id) ?? NUMBER
  if (BOOLEAN.test(code)) return { kind: 'boolean' }
  // Sections are for positive and negative numbers, zero and text.
  const [section = '', second = ''] = sectionsOf(code)
  const bare = section
    .replaceAll(/"[^"]*"|\\.|_.|\*./g, '')
    .replaceAll(/\[(?!h+\]|m+\]|s+\])[^\]]*\]/gi, '')
  if (/general/i.test(bare)) return NUMBER
  if (/\[(?:h+|m+|s+)\]/i.test(bare)) return { kind: 'elapsed' }
  const hasTime = /[hs]/i.test(bare) || /am\/pm|a\/p/i.test(bare)
  const hasDate = /[dy]/i.test(bare) || (/m/i.test(bare) && !hasTime)
  if (hasDate) return { kind: hasTime ? 'datetime' : 'date' }
  if (hasTime) return { kind: 'time' }
  const pattern = digitPattern(section)
  if (pattern === undefined) return NUMBER
  const isOf = conditionOf(section)
  const other = isOf === undefined ? undefined : digitPattern(second)
  if (isOf === undefined || other === undefined) return { kind: 'digits', pattern }
  return { kind: 'digits', pattern, other: { isOf: (value) => !isOf(value), pattern: other } }
}

/** The condition of a section, such as `[<=9999999]` of Excel's phone numbers. */
function conditionOf(section: string): ((value: number) => boolean) | undefined {
  const [, sign, than] = /^\[([<>]=?)(\d{1,15})\]/.exec(section) ?? []
  const limit = Number(than)
  switch (sign) {
    case '<':
      return (value) => value < limit
    case '<=':
      return (value) => value <= limit
    case '>':
      return (value) => value > limit
    case '>=':
      return (value) => value >= limit
    default:
      return undefined
  }
}

function sectionsOf(code: string): string[] {
  return code.slice(0, 400).match(/(?:"[^"]*"|\\.|\[[^\]]*\]|[^;])+/g) ?? []
}

const DIGIT_TOKENS = /"([^"]*)"|\\(.)|_.|\*.|\[[^\]]*\]|([0#?])|([ +\-/():.])|(.)/g

/** A pattern of whole digits with leading zeros or punctuation; undefined for other formats. */
function digitPattern(section: string): Pattern | undefined {
  const pattern: PatternPart[] = []
  let digits = 0
  let zeros = 0
  let signs = 0
  for (const [, quoted, escaped, place, sign, other] of section.matchAll(DIGIT_TOKENS)) {
    if (other !== undefined) return undefined
    if (place !== undefined) {
      digits += 1
      if (place === '0') zeros += 1
      pattern.push({ digit: place === '0' ? '0' : '' })
      continue
    }
    const text = quoted ?? escaped ?? sign
    if (text === undefined || text === '') continue
    // A point among the digits is that of a fraction.
    if (sign === '.' && digits > 0) return undefined
    signs += 1
    pattern.push({ sign: text })
  }
  const isPattern = digits > 0 && (zeros > 1 || (signs > 0 && digits > 4))
  return isPattern ? pattern : undefined
}

/** A whole number as a style of digits shows it. */
export function digitsText(value: number, style: NumberStyle & { kind: 'digits' }): string {
  const { pattern, other } = style
  return patterned(String(value), other?.isOf(value) === true ? other.pattern : pattern)
}

/** Fills a whole number into a pattern from the right; extra digits come first. */
function patterned(digits: string, pattern: Pattern): string {
  const out: string[] = []
  let left = digits
  let at = pattern.length - 1
  const first = pattern.findIndex((part) => part.digit !== undefined)
  for (; at >= 0; at--) {
    const part = pattern[at]
    if (part === undefined) continue
    if (part.digit === undefined) {
      // Separators are only written after digits.
      if (left !== '' || at < first || needsZero(pattern, at)) out.unshift(part.sign)
      continue
    }
    if (left === '') out.unshift(part.digit)
    else {
      const taken = at === first ? left : left.slice(-1)
      out.unshift(taken)
      left = left.slice(0, left.length - taken.length)
    }
  }
  return out.join('')
}

function needsZero(pattern: Pattern, before: number): boolean {
  return pattern.slice(0, before).some(({ digit }) => digit === '0')
}

/**
 * Significant digits that a spreadsheet stores. Source: Microsoft, "Excel specifications and
 * limits".
 */
const PRECISION = 15

/** A number as plain digits, without an exponent and rounded to the precision of spreadsheets. */
export function plainNumber(value: number): string {
  const short = String(value)
  // Most numbers have fewer digits than are kept; writing them with all is slow.
  const isShort = short.length <= PRECISION + 1 && !short.includes('e')
  if (isShort || Number.isSafeInteger(value)) return short
  const text = value.toPrecision(PRECISION)
  const match = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(text)
  if (match === null) return text
  const [, minus = '', whole = '', fraction = '', exponent = '0'] = match
  const power = Number(exponent)
  // Beyond this an exponent is clearer than zeros.
  if (Math.abs(power) > 40) return String(Number(text))
  const digits = whole + fraction
  const point = whole.length + power
  const padded = point <= 0 ? '0'.repeat(1 - point) + digits : digits.padEnd(point, '0')
  const place = Math.max(point, 1)
  const rest = padded.slice(place).replace(/0+$/, '')
  return `${minus}${padded.slice(0, place)}${rest === '' ? '' : `.${rest}`}`
}

const DAY_SECONDS = 86_400
/**
 * Day 0 of each date system, in days since 1970. Serial 60 of the 1900 system is a 29 February that
 * never was.
 */
const EPOCH_1900 = Date.UTC(1899, 11, 31) / 86_400_000
const EPOCH_1904 = Date.UTC(1904, 0, 1) / 86_400_000
const LAST_SERIAL = 2_958_466

/**
 * A date or time serial number as text: ISO 8601 with a blank in between; undefined if it is
 * invalid.
 */
export function serialText(
  serial: number,
  kind: 'date' | 'datetime' | 'time' | 'elapsed',
  is1904: boolean,
): { text: string; kind: 'date' | 'datetime' | 'time' } | undefined {
  if (!(serial >= 0 && serial < LAST_SERIAL)) return undefined
  const seconds = Math.round(serial * DAY_SECONDS)
  const day = Math.floor(seconds / DAY_SECONDS)
  const rest = seconds - day * DAY_SECONDS
  if (kind === 'elapsed') return { text: clock(seconds), kind: 'time' }
  if (kind === 'time' && day === 0) return { text: clock(rest), kind: 'time' }
  const date = is1904 ? EPOCH_1904 + day : EPOCH_1900 + (day > 60 ? day - 1 : day)
  const text = new Date(date * 86_400_000).toISOString().slice(0, 10)
  return rest === 0 && kind !== 'time'
    ? { text, kind: 'date' }
    : { text: `${text} ${clock(rest)}`, kind: 'datetime' }
}

function clock(seconds: number): string {
  const two = (value: number): string => String(value).padStart(2, '0')
  return `${two(Math.floor(seconds / 3600))}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`
}
