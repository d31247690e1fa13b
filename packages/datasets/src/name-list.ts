import type { ListSource, NameListName } from './source.ts'

/** A reference list of names, one set for each source. */
export interface NameList {
  readonly name: NameListName
  readonly sources: readonly ListSource[]
  /** Number of entries, each counted once per source that has it. */
  readonly count: number
  /** Newest date of its sources, ISO 8601; null if none is known. */
  readonly date: string | null
  /** Whether the domain, or a parent of it, is listed. */
  has(domain: string): boolean
  /** The matching entry: the domain itself, or its nearest listed parent; null if none is. */
  match(domain: string): string | null
  /** Whether exactly this name is listed, ignoring parents: for local parts. */
  exact(name: string): boolean
  /** The source of a matching entry. */
  sourceOf(entry: string): ListSource | null
  /** All entries, for lists with patterns. */
  entries(): IterableIterator<string>
}

/** One source and its entries. */
export interface NamePart {
  readonly source: ListSource
  readonly names: ReadonlySet<string>
}

/** Maximum number of labels of a domain name. Source: RFC 1035 2.3.4. */
const LABELS_MAX = 127

/** Creates a list from its parts; names are lower-case A-labels. */
export function buildNames(name: NameListName, parts: readonly NamePart[]): NameList {
  const exact = (entry: string): boolean => parts.some((part) => part.names.has(entry))
  const match = (domain: string): string | null => {
    let entry = domain
    for (let labels = 0; labels < LABELS_MAX; labels++) {
      if (exact(entry)) return entry
      const dot = entry.indexOf('.')
      if (dot < 0) return null
      entry = entry.slice(dot + 1)
    }
    return null
  }
  return {
    name,
    sources: parts.map((part) => part.source),
    count: parts.reduce((sum, part) => sum + part.names.size, 0),
    date: newestDate(parts.map((part) => part.source)),
    has: (domain) => match(domain) !== null,
    match,
    exact,
    sourceOf: (entry) => parts.find((part) => part.names.has(entry))?.source ?? null,
    *entries() {
      for (const part of parts) yield* part.names
    },
  }
}

/** The newest date of the sources; null if none has one. */
export function newestDate(sources: readonly ListSource[]): string | null {
  const dates = sources.flatMap((source) => (source.date === null ? [] : [source.date]))
  return dates.toSorted().at(-1) ?? null
}
