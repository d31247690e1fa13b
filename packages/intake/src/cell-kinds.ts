import { isIP } from 'node:net'
import type { Check } from '@plumbline/contract/products'
import { inAsciiDigits } from './ascii-digits.ts'
import { cellText, isNoValue } from './subject.ts'
import { wrappedAddress } from './wrapped-address.ts'

const EMAIL = /^[^\s@,;<>]+@[^\s@,;<>]+\.[^\s@,;<>]{2,}$/
const PHONE =
  /^'?(?:tel:|p:)?(?:\+|00|\(\+\d{1,3}\)\s?)?\(?\d[\d\s().\-/\u00a0]{5,20}\d(?:\s*(?:x|ext\.?)\s*\d{1,6})?$/i
const DOMAIN =
  /^(?:https?:\/\/)?(?:[\p{L}\p{N}](?:[\p{L}\p{N}-]{0,61}[\p{L}\p{N}])?\.)+(?:\p{L}{2,24}|xn--[a-z0-9-]{2,59})\.?(?:[/?#].*)?$/iu
/** A profile URL on a social network or similar site. */
const PROFILE =
  /^(?:https?:\/\/)?(?:[a-z-]+\.)*(?:linkedin|facebook|fb|instagram|twitter|x|xing|github|youtube|tiktok|pinterest|threads|gravatar)\.(?:com|net)\/./i
/** Degrees and other decimals, which are no phone numbers. */
const DECIMAL = /^-?\d{1,3}\.\d{3,}$/
const NUMBER = /^[+-]?\d+(?:[.,]\d+)*(?:e[+-]?\d+)?%?$/i
const DATE = /^\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}(?:[ T]\d{1,2}:\d{2}.*)?$/

/**
 * Kind of a cell by its form; `digits` may be a phone number or another number, `text` is
 * everything else.
 */
export type CellKind = Check | 'digits' | 'number' | 'date' | 'text' | 'empty'

/** The kind of a cell: a guess for finding columns, not a check. */
export function cellKind(whole: string): CellKind {
  const cell = cellText(whole)
  if (isNoValue(cell)) return 'empty'
  if (cell.length > 320) return 'text'
  if (EMAIL.test(cell) || wrappedAddress(cell) !== undefined) return 'email'
  if (isIP(cell) !== 0) return 'ip'
  const typed = inAsciiDigits(cell)
  if (DATE.test(typed)) return 'date'
  if (DECIMAL.test(typed)) return 'number'
  const digits = typed.replaceAll(/\D/g, '').length
  if (digits >= 7 && digits <= 15 && PHONE.test(typed)) {
    return digits === typed.replace(/^'/, '').length ? 'digits' : 'phone'
  }
  if (NUMBER.test(typed)) return 'number'
  return DOMAIN.test(cell) && !PROFILE.test(cell) ? 'domain' : 'text'
}
