/** Natural logarithm of the probability that a folded character follows another. */
export type PairLikelihood = (previous: number, code: number) => number

/** How the characters of a language are weighted. */
export interface Weighing {
  readonly pair: PairLikelihood
  /** Model of ASCII letters over all languages; absent for languages without them. */
  readonly latin?: PairLikelihood
  /** Whether words mix letters of several scripts. */
  readonly mixesScripts: boolean
}

/** A word boundary, and any ASCII character that is not a letter. */
export const BOUNDARY = 32

/** Log probabilities of characters that texts hardly ever contain. */
const CONTROL = -20
const ODD_CASE = -6
const TWO_CAPITALS = -4
const MIXED_SCRIPTS = -8
const SIGN_IN_WORD = -14
const SIGN_AT_WORD = -10
const ODD_SIGN = -11
const USUAL_SIGN = -6

/** Weight of ASCII letters: they are the same in every encoding. */
const ASCII_WEIGHT = 0.4
const ASCII_MOST = 1.5

/** Symbols that stand alone, before a word, and after it. */
const ALONE = new Set('–—…€£°№·•§™®©')
const OPENING = new Set('“„«‘‚‹¿¡「（')
const CLOSING = new Set('”“»’™®°ªº…›」）')
const IN_WORD = new Set('’·')
/** Punctuation of wide scripts. */
const WIDE = new Set('、。，：・！？～　')

/** Log likelihood of a text; ASCII characters count only if they help to tell the language. */
export function likelihoodOf(text: string, { pair, latin, mixesScripts }: Weighing): number {
  let sum = 0
  let previous = BOUNDARY
  let wasLower = false
  let wasForeign = false
  let capitals = 0
  const chars = [...text, ' ']
  for (const [at, char] of chars.entries()) {
    const code = char.codePointAt(0) ?? BOUNDARY
    const isForeign = code > 127
    if (isForeign && !isLetter(char, code)) {
      sum += signLikelihood(char, code, chars[at - 1] ?? ' ', chars[at + 1] ?? ' ')
      previous = BOUNDARY
      wasLower = false
      capitals = 0
      wasForeign = true
      continue
    }
    const folded = foldedCode(char)
    if (isForeign || wasForeign) {
      sum += pair(previous, folded)
      if (previous !== BOUNDARY && folded !== BOUNDARY) {
        // No capital follows a small letter of the same word.
        if (wasLower && isCapital(char)) sum += ODD_CASE
        // Nor does a word begin with two of them.
        if (capitals > 1 && !isCapital(char) && char !== char.toUpperCase()) sum += TWO_CAPITALS
        if (!mixesScripts && isLatin(previous) !== isLatin(folded)) sum += MIXED_SCRIPTS
      }
    } else if (latin !== undefined && (folded !== BOUNDARY || previous !== BOUNDARY)) {
      const ahead = pair(previous, folded) - latin(previous, folded)
      sum += ASCII_WEIGHT * Math.max(-ASCII_MOST, Math.min(ASCII_MOST, ahead))
    }
    capitals = folded !== BOUNDARY && isCapital(char) ? capitals + 1 : 0
    wasLower = folded !== BOUNDARY && char !== char.toUpperCase()
    wasForeign = isForeign
    previous = folded
  }
  return sum
}

function isCapital(char: string): boolean {
  return char !== char.toLowerCase()
}

/** The code of a lower-cased letter, or the boundary. */
export function foldedCode(char: string): number {
  const code = char.codePointAt(0) ?? BOUNDARY
  if (code < 128) {
    if (code >= 65 && code <= 90) return code + 32
    return code >= 97 && code <= 122 ? code : BOUNDARY
  }
  return isLetter(char, code) ? (char.toLowerCase().codePointAt(0) ?? code) : BOUNDARY
}

const LETTER = /[\p{L}\p{M}]/u

/**
 * Whether a character is a letter; ordinal indicators, which Unicode counts as letters, are not.
 */
function isLetter(char: string, code: number): boolean {
  return code !== 0xaa && code !== 0xba && (code < 128 ? isAsciiLetter(code) : LETTER.test(char))
}

function isAsciiLetter(code: number): boolean {
  return (code >= 97 && code <= 122) || (code >= 65 && code <= 90)
}

/** Latin blocks: below U+0370 and from U+1E00, with the combining marks of U+0300. */
function isLatin(code: number): boolean {
  return code < 0x370 || (code >= 0x1e00 && code < 0x1f00)
}

function signLikelihood(char: string, code: number, before: string, after: string): number {
  if (code < 0xa0 || code === 0xfffd || (code >= 0xe000 && code < 0xf900)) return CONTROL
  if (code === 0xa0 || WIDE.has(char)) return USUAL_SIGN
  const follows = isLetter(before, before.codePointAt(0) ?? 0)
  const leads = isLetter(after, after.codePointAt(0) ?? 0)
  if (follows && leads) return IN_WORD.has(char) ? USUAL_SIGN : SIGN_IN_WORD
  if (leads) return OPENING.has(char) ? USUAL_SIGN : SIGN_AT_WORD
  if (follows) return CLOSING.has(char) ? USUAL_SIGN : SIGN_AT_WORD
  return ALONE.has(char) || CLOSING.has(char) || OPENING.has(char) ? USUAL_SIGN : ODD_SIGN
}
