/**
 * Codes whose short English name is in common use; the long one includes a status ("Hong Kong SAR
 * China").
 */
const SHORT_NAMED = new Set(['HK', 'MO', 'MM', 'PS'])

/** English names of countries by ISO 3166-1 alpha-2 code, from CLDR; cached. */
export interface CountryNames {
  /** Null for a code that is no country (`XX`, `T1`, `001`). */
  of(code: string): string | null
}

/** Creates a reader of country names. */
export function createCountryNames(): CountryNames {
  const long = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' })
  const short = new Intl.DisplayNames('en', { type: 'region', style: 'short', fallback: 'none' })
  const known = new Map<string, string | null>()
  return {
    of(code) {
      const held = known.get(code)
      if (held !== undefined) return held
      const name = /^[A-Z]{2}$/.test(code)
        ? ((SHORT_NAMED.has(code) ? short : long).of(code) ?? null)
        : null
      known.set(code, name)
      return name
    },
  }
}
