import type { ColumnKind } from '@plumbline/db/tables/batches'
import type { CellValue } from './result-columns.ts'

/** Index of each style in `cellXfs`; `styles` in `workbook.ts` defines them. */
export const STYLE = {
  plain: 0,
  header: 1,
  text: 2,
  longNumber: 3,
  date: 4,
  moment: 5,
  time: 6,
} as const

/**
 * Type of a column that came with the batch; `ours` for added columns. For `mixed` each cell is
 * examined.
 */
export type CellKind = ColumnKind | 'ours'

/** Characters of a cell at most. Source: Microsoft, "Excel specifications and limits". */
const CELL_MAX_CHARS = 32_767

/**
 * Characters that XML 1.0 forbids, the carriage return that XML parsers normalize, and text that
 * looks like one of our escapes.
 */
const UNSAFE = /[\0-\x08\x0b-\x1f\ud800-\udfff\ufffe\uffff]|_(?=x[\dA-Fa-f]{4}_)/g
const MARKUP = /[&<>]/
const HAS_UNSAFE = /[\0-\x08\x0b-\x1f&<>_\ud800-\uffff]/

/**
 * A cell of a worksheet; an empty string for an empty value. Texts are never formulas, and are read
 * back exactly: characters that XML cannot hold are written as `_x0001_`, as spreadsheets do.
 * Source: ECMA-376 part 1, 22.9.2.19 (ST_Xstring).
 *
 * @param place such as `B7`
 * @param kind texts of a typed column are written with their type if they are read back exactly
 */
export function sheetCell(place: string, value: CellValue, kind: CellKind): string {
  if (value === null || value === '') return ''
  if (typeof value === 'boolean') return `<c r="${place}" t="b"><v>${value ? 1 : 0}</v></c>`
  if (typeof value === 'number') return `<c r="${place}"><v>${value}</v></c>`
  return typedCell(place, value, kind) ?? textCell(place, value)
}

/** The cell of a text that had another type in the workbook; null for plain text. */
function typedCell(place: string, text: string, kind: CellKind): string | null {
  switch (kind) {
    case 'ours':
    case 'text':
    case 'empty':
      return null
    case 'boolean':
      return text === 'TRUE' || text === 'FALSE' ? sheetCell(place, text === 'TRUE', kind) : null
    case 'time':
      return timeCell(place, text)
    case 'number':
      return numberCell(place, text, true)
    case 'date':
    case 'datetime':
    case 'mixed':
      return numberCell(place, text, false)
  }
}

/** A cell of the header row. */
export function headerCell(place: string, name: string): string {
  return textCell(place, name, STYLE.header)
}

/** First characters that would make a formula: such a cell stays a text even when it is edited. */
const STARTS_FORMULA = /^[=+\-@]/

function textCell(place: string, text: string, style?: number): string {
  const marked = style ?? (STARTS_FORMULA.test(text) ? STYLE.text : STYLE.plain)
  const shown = marked === STYLE.plain ? '' : ` s="${marked}"`
  return `<c r="${place}"${shown} t="inlineStr"><is><t xml:space="preserve">${xmlText(text)}</t></is></c>`
}

/** XML-escaped text, cut to the length limit of a cell. */
function xmlText(text: string): string {
  const cut = text.length > CELL_MAX_CHARS ? cutAt(text, CELL_MAX_CHARS) : text
  if (!HAS_UNSAFE.test(cut)) return cut
  const escaped = cut.replace(UNSAFE, (char, at: number) => escapeOf(cut, char, at))
  return MARKUP.test(escaped)
    ? escaped.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
    : escaped
}

function cutAt(text: string, chars: number): string {
  const isPair = isHigh(text.charCodeAt(chars - 1)) && isLow(text.charCodeAt(chars))
  return text.slice(0, isPair ? chars - 1 : chars)
}

function escapeOf(text: string, char: string, at: number): string {
  const code = char.charCodeAt(0)
  // The halves of a pair are adjacent; one alone is not a character.
  if (isHigh(code) && isLow(text.charCodeAt(at + 1))) return char
  if (isLow(code) && isHigh(text.charCodeAt(at - 1))) return char
  if (isHigh(code) || isLow(code)) return '\ufffd'
  return `_x${code.toString(16).toUpperCase().padStart(4, '0')}_`
}

function isHigh(code: number): boolean {
  return code >= 0xd800 && code < 0xdc00
}

function isLow(code: number): boolean {
  return code >= 0xdc00 && code < 0xe000
}

/** Significant digits that a spreadsheet stores, and those that it shows without an exponent. */
const EXACT_DIGITS = 15
const SHOWN_DIGITS = 11

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/
const DATE = /^(\d{4})-(\d\d)-(\d\d)(?: (\d\d):(\d\d):(\d\d))?$/

/**
 * The cell of a text that is a number or date and is read back unchanged; null for any other text.
 *
 * @param wasNumber whether it was a number in the workbook, so that it may be displayed rounded
 */
function numberCell(place: string, text: string, wasNumber: boolean): string | null {
  const first = text.charCodeAt(0)
  const canBe = (first >= 48 && first <= 57) || first === 45
  if (!canBe || text.length > 24) return null
  if (NUMBER.test(text)) {
    const digits = text.replace(/\D/g, '').replace(/^0+/, '').length
    if (digits > EXACT_DIGITS || String(Number(text)) !== text) return null
    const style = digits > SHOWN_DIGITS && !text.includes('.') ? ` s="${STYLE.longNumber}"` : ''
    // A longer fraction would be displayed rounded.
    if (digits > SHOWN_DIGITS - 1 && text.includes('.') && !wasNumber) return null
    return `<c r="${place}"${style}><v>${text}</v></c>`
  }
  const serial = dateSerial(text)
  if (serial === null) return null
  const style = text.length > 10 ? STYLE.moment : STYLE.date
  return `<c r="${place}" s="${style}"><v>${serial}</v></c>`
}

const TIME = /^([01]\d|2[0-3]):([0-5]\d):([0-5]\d)$/

function timeCell(place: string, text: string): string | null {
  const parts = TIME.exec(text)
  if (parts === null) return null
  const [, hours, minutes, seconds] = parts.map(Number)
  const passed = (hours ?? 0) * 3_600 + (minutes ?? 0) * 60 + (seconds ?? 0)
  return `<c r="${place}" s="${STYLE.time}"><v>${passed / 86_400}</v></c>`
}

const DAY_MS = 86_400_000
/**
 * Day 0 of the 1900 date system, for days from 1 March 1900 on: before, it counts 29 February 1900,
 * which did not exist.
 */
const EPOCH_MS = Date.UTC(1899, 11, 30)
const FIRST_SERIAL = 61

/**
 * Days since the epoch of a worksheet; null for a text that is no date, or would be read back
 * differently.
 */
function dateSerial(text: string): number | null {
  const parts = DATE.exec(text)
  if (parts === null) return null
  const iso = text.length > 10 ? `${text.slice(0, 10)}T${text.slice(11)}` : `${text}T00:00:00`
  const ms = Date.parse(`${iso}Z`)
  if (Number.isNaN(ms) || !new Date(ms).toISOString().startsWith(iso)) return null
  const serial = (ms - EPOCH_MS) / DAY_MS
  return serial < FIRST_SERIAL ? null : serial
}

/** The letters of a column, from 0: `A`, `Z`, `AA`. */
export function columnLetters(column: number): string {
  let letters = ''
  for (let left = column + 1; left > 0; left = Math.floor((left - 1) / 26)) {
    letters = String.fromCharCode(65 + ((left - 1) % 26)) + letters
  }
  return letters
}
