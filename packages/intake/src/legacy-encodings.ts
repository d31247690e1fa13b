import type { Encoding } from '@plumbline/contract/encodings'
import type { LanguageFamily } from './encoding-languages.ts'

/** A legacy encoding that can be guessed, with one to four bytes a character. */
export interface LegacyEncoding {
  /** Name shown to users. */
  readonly name: Encoding
  readonly family: LanguageFamily
  /**
   * Frequency relative to the most common encoding of its kind, as a natural logarithm (0 or less).
   * Between equally likely ones the more common wins.
   */
  readonly rarity: number
}

/**
 * The supported legacy encodings, the most common first: those of Windows, then those of ISO, which
 * they mostly contain; those of DOS and the old Macintosh are last.
 */
export const LEGACY_ENCODINGS = [
  { name: 'windows-1252', family: 'western', rarity: 0 },
  { name: 'windows-1250', family: 'central', rarity: -3 },
  { name: 'windows-1251', family: 'cyrillic', rarity: -3 },
  { name: 'shift_jis', family: 'japanese', rarity: -3 },
  { name: 'gb18030', family: 'simplified', rarity: -3 },
  { name: 'big5', family: 'traditional', rarity: -4 },
  { name: 'euc-kr', family: 'korean', rarity: -4 },
  { name: 'windows-1254', family: 'turkish', rarity: -4 },
  { name: 'windows-1253', family: 'greek', rarity: -4 },
  { name: 'windows-1255', family: 'hebrew', rarity: -4 },
  { name: 'windows-1256', family: 'arabic', rarity: -4 },
  { name: 'windows-1257', family: 'baltic', rarity: -5 },
  { name: 'windows-1258', family: 'vietnamese', rarity: -5 },
  { name: 'windows-874', family: 'thai', rarity: -5 },
  { name: 'iso-8859-2', family: 'central', rarity: -5 },
  { name: 'iso-8859-15', family: 'western', rarity: -6 },
  { name: 'macintosh', family: 'western', rarity: -5 },
  { name: 'koi8-r', family: 'cyrillic', rarity: -5 },
  { name: 'koi8-u', family: 'cyrillic', rarity: -6 },
  { name: 'ibm866', family: 'cyrillic', rarity: -5 },
  { name: 'iso-8859-5', family: 'cyrillic', rarity: -6 },
  { name: 'maccyrillic', family: 'cyrillic', rarity: -7 },
  { name: 'euc-jp', family: 'japanese', rarity: -5 },
  { name: 'iso-8859-7', family: 'greek', rarity: -6 },
  { name: 'iso-8859-9', family: 'turkish', rarity: -6 },
  { name: 'iso-8859-8', family: 'hebrew', rarity: -7 },
  { name: 'iso-8859-6', family: 'arabic', rarity: -7 },
  { name: 'iso-8859-13', family: 'baltic', rarity: -7 },
  { name: 'iso-8859-4', family: 'baltic', rarity: -8 },
  { name: 'ibm850', family: 'western', rarity: -7 },
  { name: 'ibm437', family: 'western', rarity: -8 },
  { name: 'ibm852', family: 'central', rarity: -7 },
  { name: 'maccenteuro', family: 'central', rarity: -8 },
  { name: 'ibm737', family: 'greek', rarity: -8 },
  { name: 'ibm857', family: 'turkish', rarity: -8 },
  { name: 'ibm775', family: 'baltic', rarity: -8 },
] as const satisfies readonly LegacyEncoding[]
