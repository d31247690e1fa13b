/**
 * The zeros of scripts in whose digits numbers are typed, one to nine behind each: Arabic, Persian,
 * Devanagari, Bengali, Gurmukhi, Gujarati, Odia, Tamil, Telugu, Kannada, Malayalam, Thai, Lao,
 * full-width. Source: Unicode 17, general category Nd.
 */
const ZEROS = [...'٠۰०০੦૦୦௦౦೦൦๐໐０'].map((zero) => zero.charCodeAt(0))

const NOT_ASCII = /[^\x20-\x7e]/

/**
 * A text with the digits, plus signs and blanks of ASCII, and without invisible characters: copied
 * numbers are often enclosed in marks of their direction.
 */
export function inAsciiDigits(text: string): string {
  if (!NOT_ASCII.test(text)) return text
  return text
    .replaceAll(/\p{Cf}/gu, '')
    .replaceAll(/\p{Zs}/gu, ' ')
    .replaceAll('＋', '+')
    .replaceAll(/\p{Nd}/gu, asciiDigit)
    .trim()
}

function asciiDigit(digit: string): string {
  const code = digit.charCodeAt(0)
  const zero = ZEROS.find((first) => code >= first && code <= first + 9)
  return zero === undefined ? digit : String(code - zero)
}
