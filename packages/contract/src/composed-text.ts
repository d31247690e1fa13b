/**
 * More combining marks in a row than any writing uses. Source: Unicode Standard Annex 15, section
 * 13 (UAX15-D3, Stream-Safe Text Format).
 */
const LONG_RUN = /(?<!\p{M})\p{M}{31}/u

/**
 * A text in NFC, in time linear in its length: one with more than 30 combining marks in a row is
 * returned as it is, since those are sorted in quadratic time.
 */
export function composed(text: string): string {
  return LONG_RUN.test(text) ? text : text.normalize('NFC')
}
